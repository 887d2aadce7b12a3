typestate mutex (m : pthread_mutex_t *) born at first use {
  init = return pthread_mutex_init(m)
  lock = call pthread_mutex_lock(m)
  unlock = call pthread_mutex_unlock(m)
  destroy = call pthread_mutex_destroy(m)
  state fresh { init -> ready; lock -> ready; unlock -> ready; destroy -> gone }
  state ready { lock -> ready; unlock -> ready; destroy -> gone }
  state gone { }
}
typestate condition (c : pthread_cond_t *) born at first use {
  init = return pthread_cond_init(c)
  wait = call pthread_cond_wait(c)
  timed = call pthread_cond_timedwait(c)
  signal = call pthread_cond_signal(c)
  broadcast = call pthread_cond_broadcast(c)
  destroy = call pthread_cond_destroy(c)
  state fresh { init -> ready; wait -> ready; timed -> ready; signal -> ready; broadcast -> ready; destroy -> gone }
  state ready { wait -> ready; timed -> ready; signal -> ready; broadcast -> ready; destroy -> gone }
  state gone { }
}
