// libcurl: easy and multi handles are used until they are cleaned up.
typestate easy (e : CURL *) {
  init    = return curl_easy_init -> e when e != 0
  dup     = return curl_easy_duphandle -> e when e != 0
  setopt  = call curl_easy_setopt(e)
  perform = call curl_easy_perform(e)
  getinfo = call curl_easy_getinfo(e)
  pause   = call curl_easy_pause(e)
  recv    = call curl_easy_recv(e)
  send    = call curl_easy_send(e)
  wsrecv  = call curl_ws_recv(e)
  wssend  = call curl_ws_send(e)
  reset   = call curl_easy_reset(e)
  upkeep  = call curl_easy_upkeep(e)
  header  = call curl_easy_header(e)
  source  = call curl_easy_duphandle(e)
  add     = call curl_multi_add_handle(_, e)
  cleanup = call curl_easy_cleanup(e) when e != 0

  state fresh { init -> alive; dup -> alive }
  state alive {
    setopt -> alive; perform -> alive; getinfo -> alive; pause -> alive; recv -> alive; send -> alive; wsrecv -> alive
    wssend -> alive; reset -> alive; upkeep -> alive; header -> alive; source -> alive; add -> alive; cleanup -> gone
  }
  state gone { }
}

typestate multi (m : CURLM *) {
  init    = return curl_multi_init -> m when m != 0
  add     = call curl_multi_add_handle(m)
  remove  = call curl_multi_remove_handle(m)
  perform = call curl_multi_perform(m)
  fdset   = call curl_multi_fdset(m)
  wait    = call curl_multi_wait(m)
  poll    = call curl_multi_poll(m)
  wakeup  = call curl_multi_wakeup(m)
  info    = call curl_multi_info_read(m)
  timeout = call curl_multi_timeout(m)
  socket  = call curl_multi_socket_action(m)
  all     = call curl_multi_socket_all(m)
  assign  = call curl_multi_assign(m)
  setopt  = call curl_multi_setopt(m)
  cleanup = call curl_multi_cleanup(m) when m != 0

  state fresh { init -> alive }
  state alive {
    add -> alive; remove -> alive; perform -> alive; fdset -> alive; wait -> alive; poll -> alive; wakeup -> alive
    info -> alive; timeout -> alive; socket -> alive; all -> alive; assign -> alive; setopt -> alive; cleanup -> gone
  }
  state gone { remove -> gone; setopt -> gone } // by curl_multi_cleanup itself
}
