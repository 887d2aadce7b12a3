// Mutexes, conditions and read-write locks: none is used after it was destroyed.
//
// A static initialiser makes them without a call: so they begin with their first use, and memory in which one was
// destroyed may have another. A use that comes after that in this run is what --misuse looks for.
typestate mutex (m : pthread_mutex_t *) born at first use reborn at next use {
  init    = call pthread_mutex_init(m)
  lock    = call pthread_mutex_lock(m)
  try     = call pthread_mutex_trylock(m)
  timed   = call pthread_mutex_timedlock(m)
  clock   = call pthread_mutex_clocklock(m)
  unlock  = call pthread_mutex_unlock(m)
  wait    = call pthread_cond_wait(_, m)
  waits   = call pthread_cond_timedwait(_, m)
  waitc   = call pthread_cond_clockwait(_, m)
  destroy = call pthread_mutex_destroy(m)

  state fresh {
    init -> ready; lock -> ready; try -> ready; timed -> ready; clock -> ready; unlock -> ready; wait -> ready
    waits -> ready; waitc -> ready; destroy -> destroyed
  }
  state ready {
    lock -> ready; try -> ready; timed -> ready; clock -> ready; unlock -> ready; wait -> ready; waits -> ready
    waitc -> ready; destroy -> destroyed
  }
  state destroyed { }
}

typestate condition (c : pthread_cond_t *) born at first use reborn at next use {
  init      = call pthread_cond_init(c)
  wait      = call pthread_cond_wait(c)
  timed     = call pthread_cond_timedwait(c)
  clock     = call pthread_cond_clockwait(c)
  signal    = call pthread_cond_signal(c)
  broadcast = call pthread_cond_broadcast(c)
  destroy   = call pthread_cond_destroy(c)

  state fresh {
    init -> ready; wait -> ready; timed -> ready; clock -> ready; signal -> ready; broadcast -> ready
    destroy -> destroyed
  }
  state ready {
    wait -> ready; timed -> ready; clock -> ready; signal -> ready; broadcast -> ready; destroy -> destroyed
  }
  state destroyed { }
}

typestate rwlock (l : pthread_rwlock_t *) born at first use reborn at next use {
  init    = call pthread_rwlock_init(l)
  read    = call pthread_rwlock_rdlock(l)
  tryread = call pthread_rwlock_tryrdlock(l)
  write   = call pthread_rwlock_wrlock(l)
  try     = call pthread_rwlock_trywrlock(l)
  unlock  = call pthread_rwlock_unlock(l)
  destroy = call pthread_rwlock_destroy(l)

  state fresh {
    init -> ready; read -> ready; tryread -> ready; write -> ready; try -> ready; unlock -> ready; destroy -> destroyed
  }
  state ready {
    read -> ready; tryread -> ready; write -> ready; try -> ready; unlock -> ready; destroy -> destroyed
  }
  state destroyed { }
}
