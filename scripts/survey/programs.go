package main

// program is a program of Debian's packages, and what it does in a new folder.
type program struct {
	name    string
	needs   []string // commands or files; without them the program is left out
	prepare string   // what the shell does first
	run     []string
	flags   []string // of exec
	files   []string // whose content is to be as plain
	varies  bool     // what it prints differs from run to run
}

// data makes a file of some 12 MB, always the same, that compresses to about half.
const data = `awk 'BEGIN { srand(1); for (i = 0; i < 600000; i++) print int(rand() * 1e9), int(rand() * 1e9) }' > data`

// programs are in the order of the table.
var programs = []program{
	{name: "7z", needs: []string{"7z"}, prepare: data, run: []string{"7z", "a", "-bd", "-mmt2", "-mx1", "data.7z", "data"}, varies: true},
	{name: "aria2c", needs: []string{"aria2c", "python3"}, prepare: data + `; python3 -u -m http.server -b 127.0.0.1 0 >port 2>&1 & until grep -q 'port [0-9]' port; do sleep 0.05; done; printf 'http://127.0.0.1:%s/data\n  out=copy\n' $(sed -n 's/.*port \([0-9]*\).*/\1/p' port | head -n 1) > list`,
		run: []string{"aria2c", "-q", "-x4", "-i", "list"}, files: []string{"copy"}},
	{name: "bash", needs: []string{"bash"}, run: []string{"bash", "-c", "for i in 1 2 3; do echo $i | tr 1-3 a-c; done"}},
	{name: "chromium", needs: []string{"chromium"}, flags: []string{"--follow"},
		run: []string{"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=profile", "--dump-dom", "about:blank"}},
	{name: "clang", needs: []string{"clang-19"}, prepare: `printf '#include <stdio.h>\nint main(void) { puts("hi"); }\n' > hi.c`, run: []string{"clang-19", "-O2", "-c", "hi.c", "-o", "hi.o"}, files: []string{"hi.o"}},
	{name: "convert", needs: []string{"convert"}, prepare: `convert -size 400x400 -seed 1 plasma: in.png`, run: []string{"convert", "in.png", "-blur", "0x4", "-resize", "50%", "out.ppm"}, files: []string{"out.ppm"}},
	{name: "curl", needs: []string{"curl"}, prepare: data, run: []string{"curl", "-s", "-o", "copy", "file:data"}, varies: true},
	{name: "ffmpeg", needs: []string{"ffmpeg"}, run: []string{"ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=d=2:s=320x240", "-c:v", "mpeg2video", "-threads", "2", "-f", "md5", "-"}},
	{name: "fio", needs: []string{"fio"}, run: []string{"fio", "--name=j", "--size=4m", "--rw=randrw", "--thread", "--numjobs=2", "--output-format=terse"}, varies: true},
	{name: "gdb", needs: []string{"gdb"}, run: []string{"gdb", "-q", "-nx", "-batch", "-ex", "break main", "-ex", "info line main", "/bin/true"}},
	{name: "ghc", needs: []string{"ghc"}, prepare: `printf 'import Control.Concurrent\nmain = do { m <- newEmptyMVar; _ <- forkIO (putMVar m (sum [1..100000 :: Int])); takeMVar m >>= print }\n' > hi.hs; ghc -v0 -threaded hi.hs`, run: []string{"./hi"}},
	{name: "git grep", needs: []string{"git"}, prepare: `git init -q .; for i in $(seq 200); do seq $i 3000 > f$i; done; git add .`, run: []string{"git", "grep", "--threads=4", "-c", "77"}},
	{name: "lbzip2", needs: []string{"lbzip2"}, prepare: data, run: []string{"lbzip2", "-n2", "-k", "data"}, files: []string{"data.bz2"}},
	{name: "lld", needs: []string{"ld.lld"}, prepare: `printf '.globl _start\n_start: ret\n' | as -o s.o`, run: []string{"ld.lld", "s.o", "-o", "s"}, files: []string{"s"}},
	{name: "lrzip", needs: []string{"lrzip"}, prepare: data, run: []string{"lrzip", "-q", "-p2", "-l", "data"}, varies: true},
	{name: "lua", needs: []string{"lua5.4"}, run: []string{"lua5.4", "-e", "local s = 0 for i = 1, 1e6 do s = s + i % 7 end print(s)"}},
	{name: "mpirun", needs: []string{"mpirun"}, run: []string{"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "echo", "hi"}},
	{name: "node", needs: []string{"node"}, run: []string{"node", "-e", `const {Worker} = require("worker_threads"); const w = new Worker('let s = 0; for (let i = 0; i < 1e6; i++) s += i % 7; require("worker_threads").parentPort.postMessage(s)', {eval: true}); w.on("message", m => console.log(m))`}},
	{name: "ocaml", needs: []string{"ocamlopt"}, prepare: `printf 'let n = ref 0 and m = Mutex.create ()\nlet f () = for _ = 1 to 1000 do Mutex.lock m; incr n; Mutex.unlock m done\nlet () = List.iter Thread.join (List.map (fun _ -> Thread.create f ()) [1;2;3]); print_int !n\n' > t.ml; ocamlopt -I +threads unix.cmxa threads.cmxa t.ml -o t 2>/dev/null`, run: []string{"./t"}},
	{name: "pbzip2", needs: []string{"pbzip2"}, prepare: data, run: []string{"pbzip2", "-p2", "-k", "data"}, files: []string{"data.bz2"}},
	{name: "perl", needs: []string{"perl"}, run: []string{"perl", "-Mthreads", "-e", `my @t = map { threads->create(sub { my $s = 0; $s += $_ % 7 for 1..100000; $s }) } 1..3; print $_->join, "\n" for @t`}},
	{name: "pigz", needs: []string{"pigz"}, prepare: data, run: []string{"pigz", "-p", "3", "-k", "-n", "data"}, files: []string{"data.gz"}},
	{name: "pixz", needs: []string{"pixz"}, prepare: data, run: []string{"pixz", "-p", "2", "-1", "-k", "data", "data.xz"}, files: []string{"data.xz"}},
	{name: "plzip", needs: []string{"plzip"}, prepare: data, run: []string{"plzip", "-n", "2", "-0", "-k", "data"}, files: []string{"data.lz"}},
	{name: "python3", needs: []string{"/usr/bin/python3"}, run: []string{"/usr/bin/python3", "-c", `
import queue, threading
q, out = queue.Queue(), []
def work():
    while (n := q.get()) is not None:
        out.append(n * n)
ts = [threading.Thread(target=work) for _ in range(4)]
for t in ts: t.start()
for i in range(1000): q.put(i)
for t in ts: q.put(None)
for t in ts: t.join()
print(sum(out))`}},
	{name: "qemu-img", needs: []string{"qemu-img"}, prepare: data, run: []string{"qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-m", "4", "data", "data.qcow2"}, files: []string{"data.qcow2"}},
	{name: "rsync", needs: []string{"rsync"}, prepare: data, run: []string{"rsync", "data", "copy"}, files: []string{"copy"}},
	{name: "ruby", needs: []string{"ruby"}, run: []string{"ruby", "-e", `q = Queue.new; ts = 3.times.map { Thread.new { s = 0; while (n = q.pop); s += n; end; s } }; 1000.times { |i| q << i }; 3.times { q << nil }; puts ts.sum(&:value)`}},
	{name: "rustc", needs: []string{"/usr/bin/rustc"}, prepare: `printf 'pub fn f(n: u64) -> u64 { (0..n).sum() }\n' > l.rs`, files: []string{"libl.rlib"}, // which has the name of the folder without the last flag
		run: []string{"sh", "-c", `exec /usr/bin/rustc -O --crate-type=rlib --remap-path-prefix="$PWD=." l.rs`}},
	{name: "soffice", needs: []string{"soffice"}, flags: []string{"--follow"}, prepare: `printf 'hello\nworld\n' > in.txt`, files: []string{"in.html"},
		run: []string{"sh", "-c", `HOME=$PWD exec soffice --headless -env:UserInstallation="file://$PWD/profile" --convert-to html in.txt 2>/dev/null`}, varies: true},
	{name: "sort", needs: []string{"sort"}, prepare: data, run: []string{"sort", "--parallel=2", "-o", "sorted", "data"}, files: []string{"sorted"}},
	{name: "sqlite3", needs: []string{"sqlite3"}, run: []string{"sqlite3", ":memory:", "create table t(a); with recursive c(x) as (select 1 union all select x+1 from c where x < 20000) insert into t select x from c; select sum(a) from t;"}},
	{name: "stress-ng", needs: []string{"stress-ng"}, run: []string{"stress-ng", "-q", "--pthread", "1", "--pthread-ops", "200", "--temp-path", "."}, varies: true},
	{name: "sysbench", needs: []string{"sysbench"}, run: []string{"sysbench", "mutex", "--threads=3", "--mutex-num=16", "--mutex-locks=500", "--mutex-loops=100", "run"}, varies: true},
	{name: "true", needs: []string{"true"}, run: []string{"true"}},
	{name: "xz", needs: []string{"xz"}, prepare: data, run: []string{"xz", "-T2", "-0", "--block-size=4MiB", "-k", "data"}, files: []string{"data.xz"}},
	{name: "zstd", needs: []string{"zstd"}, prepare: data, run: []string{"zstd", "-q", "-T2", "data"}, files: []string{"data.zst"}},
}
