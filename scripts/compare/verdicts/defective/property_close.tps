// No line is written to a closed log.
var n : int = lines
var c : int = closed

prop shut = c > 0
prop line = n > 0

property line_before_close = always (shut -> line)
