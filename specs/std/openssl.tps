// OpenSSL: connections (SSL) and contexts of digests and ciphers are used until they are freed.
//
// A connection may have several owners: SSL_up_ref and SSL_dup add one, and from then on nothing is said about it. What
// SSL_free itself calls, and what reads no state, as SSL_get_error, does not matter.
typestate connection (s : SSL *) {
  new       = return SSL_new -> s when s != 0
  share     = call SSL_up_ref(s)
  dup       = call SSL_dup(s)
  connect   = call SSL_connect(s)
  accept    = call SSL_accept(s)
  handshake = call SSL_do_handshake(s)
  read      = call SSL_read(s)
  read_ex   = call SSL_read_ex(s)
  peek      = call SSL_peek(s)
  peek_ex   = call SSL_peek_ex(s)
  write     = call SSL_write(s)
  write_ex  = call SSL_write_ex(s)
  sendfile  = call SSL_sendfile(s)
  pending   = call SSL_pending(s)
  shutdown  = call SSL_shutdown(s)
  renew     = call SSL_renegotiate(s)
  update    = call SSL_key_update(s)
  clear     = call SSL_clear(s)
  fd        = call SSL_set_fd(s)
  bio       = call SSL_set_bio(s)
  cert      = call SSL_get_peer_certificate(s)
  cert1     = call SSL_get1_peer_certificate(s)
  verify    = call SSL_get_verify_result(s)
  free      = call SSL_free(s) when s != 0

  state fresh { new -> alive }
  state alive {
    connect -> alive; accept -> alive; handshake -> alive; read -> alive; read_ex -> alive; peek -> alive
    peek_ex -> alive; write -> alive; write_ex -> alive; sendfile -> alive; pending -> alive; shutdown -> alive
    renew -> alive; update -> alive; clear -> alive; fd -> alive; bio -> alive; cert -> alive; cert1 -> alive
    verify -> alive; share -> shared; dup -> shared; free -> freed
  }
  state shared {
    connect -> shared; accept -> shared; handshake -> shared; read -> shared; read_ex -> shared; peek -> shared
    peek_ex -> shared; write -> shared; write_ex -> shared; sendfile -> shared; pending -> shared; shutdown -> shared
    renew -> shared; update -> shared; clear -> shared; fd -> shared; bio -> shared; cert -> shared; cert1 -> shared
    verify -> shared; share -> shared; dup -> shared; free -> shared
  }
  state freed { }
}

typestate digest (c : EVP_MD_CTX *) {
  new     = return EVP_MD_CTX_new -> c when c != 0
  init    = call EVP_DigestInit(c)
  init_ex = call EVP_DigestInit_ex(c)
  init_2  = call EVP_DigestInit_ex2(c)
  update  = call EVP_DigestUpdate(c)
  final   = call EVP_DigestFinal(c)
  final_e = call EVP_DigestFinal_ex(c)
  final_x = call EVP_DigestFinalXOF(c)
  copy    = call EVP_MD_CTX_copy_ex(c)
  source  = call EVP_MD_CTX_copy_ex(_, c)
  sign    = call EVP_DigestSignInit(c)
  signed  = call EVP_DigestSignFinal(c)
  verify  = call EVP_DigestVerifyInit(c)
  verified = call EVP_DigestVerifyFinal(c)
  free    = call EVP_MD_CTX_free(c) when c != 0

  state fresh { new -> alive }
  state alive {
    init -> alive; init_ex -> alive; init_2 -> alive; update -> alive; final -> alive; final_e -> alive; final_x -> alive
    copy -> alive; source -> alive; sign -> alive; signed -> alive; verify -> alive; verified -> alive; free -> freed
  }
  state freed { }
}

typestate cipher (c : EVP_CIPHER_CTX *) {
  new       = return EVP_CIPHER_CTX_new -> c when c != 0
  encrypt   = call EVP_EncryptInit_ex(c)
  encrypt_2 = call EVP_EncryptInit_ex2(c)
  encrypts  = call EVP_EncryptUpdate(c)
  encrypted = call EVP_EncryptFinal_ex(c)
  decrypt   = call EVP_DecryptInit_ex(c)
  decrypt_2 = call EVP_DecryptInit_ex2(c)
  decrypts  = call EVP_DecryptUpdate(c)
  decrypted = call EVP_DecryptFinal_ex(c)
  init      = call EVP_CipherInit_ex(c)
  update    = call EVP_CipherUpdate(c)
  final     = call EVP_CipherFinal_ex(c)
  ctrl      = call EVP_CIPHER_CTX_ctrl(c)
  free      = call EVP_CIPHER_CTX_free(c) when c != 0

  state fresh { new -> alive }
  state alive {
    encrypt -> alive; encrypt_2 -> alive; encrypts -> alive; encrypted -> alive; decrypt -> alive; decrypt_2 -> alive
    decrypts -> alive; decrypted -> alive; init -> alive; update -> alive; final -> alive; ctrl -> alive; free -> freed
  }
  state freed { }
}
