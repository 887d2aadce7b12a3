// GLib: locks and conditions of GLib that the program initialises are used until they are cleared. One that is all zeros
// needs no call that initialises it.
typestate gmutex (m : GMutex *) born at first use {
  init    = return g_mutex_init(m)
  lock    = call g_mutex_lock(m)
  trylock = call g_mutex_trylock(m)
  unlock  = call g_mutex_unlock(m)
  clear   = call g_mutex_clear(m)

  state fresh   { init -> ready; lock -> ready; trylock -> ready; unlock -> ready; clear -> cleared }
  state ready   { lock -> ready; trylock -> ready; unlock -> ready; clear -> cleared }
  state cleared { }
}

typestate grecmutex (m : GRecMutex *) born at first use {
  init    = return g_rec_mutex_init(m)
  lock    = call g_rec_mutex_lock(m)
  trylock = call g_rec_mutex_trylock(m)
  unlock  = call g_rec_mutex_unlock(m)
  clear   = call g_rec_mutex_clear(m)

  state fresh   { init -> ready; lock -> ready; trylock -> ready; unlock -> ready; clear -> cleared }
  state ready   { lock -> ready; trylock -> ready; unlock -> ready; clear -> cleared }
  state cleared { }
}

typestate gcond (c : GCond *) born at first use {
  init      = return g_cond_init(c)
  wait      = call g_cond_wait(c)
  until     = call g_cond_wait_until(c)
  signal    = call g_cond_signal(c)
  broadcast = call g_cond_broadcast(c)
  clear     = call g_cond_clear(c)

  state fresh   { init -> ready; wait -> ready; until -> ready; signal -> ready; broadcast -> ready; clear -> cleared }
  state ready   { wait -> ready; until -> ready; signal -> ready; broadcast -> ready; clear -> cleared }
  state cleared { }
}
