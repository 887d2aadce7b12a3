var i : int = i
var u : uint = u
var b : bool = b
var f : float = f
var e : enum = e
var p : ptr = p
var x = x
prop a = i
prop c = (i > 1) + 2 == 3
prop d = b < 1
prop g = b == 2
prop h = f % 2 == 1
prop j = ~f == 1
prop k = i == null
prop l = p == 1.5
prop m = e == OPEN && OPEN == x
prop n = i == OPEN
prop o = -b == 1
property q = always i
property r = always (once i > 1) == b
property s = i > 1 since b && b
property t = i == 1 & u == 2
event ev = call F(n) when n
prop z = ev
property y = x == vv
property w = always ~1.5 == 1
