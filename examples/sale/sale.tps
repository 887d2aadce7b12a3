// A sale is one step for all others.
var goods : int = stock
check atomicity(sell)
