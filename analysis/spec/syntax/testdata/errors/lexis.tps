prop a = 08 > 1
prop b = 99999999999999999999 > 1
prop c = 1x > 1
prop d = 'ab' > 1
prop e = "string
prop f = "\q"
var g = `open
var h = ``
prop i = $ > 1
prop j = w > 1
var k = a+b
/* no end
