// Whoever takes an address has asked whether there is one, and nobody has taken one since.
typestate downloads (this : DownloadQueue) born at first use {
  queue = call DownloadQueue::queue(this, _)
  asks  = return DownloadQueue::size(this)
  takes = call DownloadQueue::next(this)

  state idle  { queue -> idle; asks -> asked }
  state asked { queue -> asked; asks -> asked; takes -> idle }
}
