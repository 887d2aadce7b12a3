// Barriers, spinlocks and semaphores: none is used after it was destroyed.
//
// Mutexes, conditions and read-write locks are in std/mutex. What --misuse says of threads, locks and conditions needs no
// specification.
typestate barrier (b : pthread_barrier_t *) {
  init    = call pthread_barrier_init(b)
  wait    = call pthread_barrier_wait(b)
  destroy = call pthread_barrier_destroy(b)

  state fresh     { init -> ready }
  state ready     { wait -> ready; destroy -> destroyed }
  state destroyed { }
}

typestate spinlock (l : pthread_spinlock_t *) {
  init    = call pthread_spin_init(l)
  lock    = call pthread_spin_lock(l)
  try     = call pthread_spin_trylock(l)
  unlock  = call pthread_spin_unlock(l)
  destroy = call pthread_spin_destroy(l)

  state fresh     { init -> ready }
  state ready     { lock -> ready; try -> ready; unlock -> ready; destroy -> destroyed }
  state destroyed { }
}

typestate semaphore (s : sem_t *) {
  init    = call sem_init(s)
  wait    = call sem_wait(s)
  timed   = call sem_timedwait(s)
  clock   = call sem_clockwait(s)
  try     = call sem_trywait(s)
  post    = call sem_post(s)
  value   = call sem_getvalue(s)
  destroy = call sem_destroy(s)

  state fresh     { init -> ready }
  state ready     {
    wait -> ready; timed -> ready; clock -> ready; try -> ready; post -> ready; value -> ready; destroy -> destroyed
  }
  state destroyed { }
}
