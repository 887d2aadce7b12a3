// What the paper states in words, that a task returns a sorted array before a merge; the formula is made up. The merge of the
// whole array is by one thread; merges of halves are concurrent, and no scope can be cut at all of them.
event merged = call merge_whole
thread task = start task
event sorted   = return is_sorted -> ok by task when ok != 0
event unsorted = return is_sorted -> ok by task when ok == 0

scope sort (merged) {
  property returned on task(sorted, unsorted) is F(sorted)
  property failed   on task(unsorted)         is F(unsorted)

  atom all_sorted = all(returned)
  atom some_fail  = any(failed)

  check "a task returns an unsorted array" always (all_sorted && !some_fail)
}
