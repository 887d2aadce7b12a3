(* Two threads, one after the other, use two mutexes in opposite orders or, if the argument is "same", in one. *)
let a = Mutex.create () and b = Mutex.create ()
let finished = ref 0

let both x y =
  Mutex.lock x;
  Thread.yield ();
  Mutex.lock y;
  Mutex.unlock y;
  Mutex.unlock x;
  incr finished

let one_more x y =
  let n = !finished in
  let t = Thread.create (both x) y in
  while !finished = n do Thread.delay 0.001 done;
  t

let () =
  let t = one_more a b in
  let u = if Sys.argv.(1) = "same" then one_more a b else one_more b a in
  Thread.join t;
  Thread.join u
