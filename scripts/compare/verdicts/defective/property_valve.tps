// The valve is opened only while the pump runs.
var p : int = pump
var v : int = valve

property pump_first = always (v > 0 -> p > 0)
