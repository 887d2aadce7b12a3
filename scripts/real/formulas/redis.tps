// Commands of Redis are atomic: one thread executes them, and what its threads for input and output, and those in the background,
// do meanwhile is not to be seen in between. Handing reads out to such threads and waiting for them is no atomic block.
check atomicity(incrCommand)
check atomicity(processCommand)
check atomicity(handleClientsWithPendingReadsUsingThreads)
