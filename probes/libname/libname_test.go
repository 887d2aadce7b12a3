package libname

import "testing"

// TestLibraries checks each library beside a file whose name begins with the library's.
func TestLibraries(t *testing.T) {
	const language, runtime, loader, cpp = 1, 2, 4, 8
	for file, want := range map[string]int{
		"/lib/x86_64-linux-gnu/libc.so.6":       language | runtime,
		"/lib/x86_64-linux-gnu/libc-2.31.so":    language | runtime,
		"/usr/lib/musl/lib/libc.so":             language | runtime,
		"/lib/libc.musl-x86_64.so.1":            language | runtime,
		"/lib/ld-musl-x86_64.so.1":              language | runtime,
		"/lib/x86_64-linux-gnu/libpthread.so.0": language | runtime,
		"/usr/lib/libpthread-2.31.so":           language | runtime,
		"/lib64/ld-linux-x86-64.so.2":           language | runtime | loader,
		"/lib/ld-linux-aarch64.so.1":            language | runtime | loader,
		"/lib/x86_64-linux-gnu/ld-2.31.so":      language | runtime | loader,
		"/usr/lib/libstdc++.so.6.0.30":          language | runtime | cpp,
		"libstdc++.so.6":                        language | runtime | cpp,
		"/usr/lib/llvm-19/lib/libc++.so.1.0":    language | runtime | cpp,
		"/usr/lib/llvm-19/lib/libc++abi.so.1":   language | runtime,
		"/lib/libgcc_s.so.1":                    language | runtime,
		"/lib/libm.so.6":                        runtime,
		"/lib/libm-2.31.so":                     runtime,
		"/lib/librt.so.1":                       runtime,
		"/lib/libdl-2.31.so":                    runtime,
		"/usr/lib/libatomic.so.1.2.0":           runtime,
		"/usr/lib/libjemalloc.so.2":             runtime,
		"/usr/lib/libtcmalloc_minimal.so.4":     runtime,
		"/usr/lib/libmimalloc.so.2.1":           runtime,
		"/usr/lib/libmimalloc-secure.so":        runtime,
		"/usr/lib/libtsan.so.2.0.0":             language | runtime,
		"/usr/lib/liblsan.so.0":                 language | runtime,

		"/usr/lib/librte_ring.so.23":              0,
		"/usr/lib/librtmp.so.1":                   0,
		"/usr/lib/librtaudio-6.so":                0,
		"/usr/bin/ld-tool":                        0,
		"/usr/lib/ld-tool.so":                     0,
		"/usr/lib/ld-linux-tool.so.1":             0,
		"/usr/lib/ld-musl-tool.so":                0,
		"/usr/lib/libdlib.so.19":                  0,
		"/usr/lib/libdl-ext.so":                   0,
		"/usr/lib/libc-client.so.2007e":           0,
		"/usr/lib/libc-client.so.2":               0,
		"/usr/lib/libc.so.d/plugin":               0,
		"/usr/lib/libc.sock.so":                   0,
		"/usr/lib/libpthread-workqueue.so":        0,
		"/usr/lib/libpthreadpool.so":              0,
		"/usr/lib/libm-extra.so":                  0,
		"/usr/lib/libjemallocator.so":             0,
		"/usr/lib/libtcmalloc_of_mine.so":         0,
		"/usr/lib/libstdc++fs.so":                 0,
		"/usr/lib/libc++experiments.so.1":         0,
		"/usr/lib/libgcc_sx.so":                   0,
		"/usr/lib/libatomic_ops.so.1":             0,
		"/usr/lib/libstdc++.so.6.0.30-gdb.py":     0,
		"/usr/lib/libcurl.so.4":                   0,
		"/usr/lib/libmemcached.so":                0,
		"/usr/lib/libcrypto.so.3":                 0,
		"/usr/lib/x86_64-linux-gnu/libtsandal.so": 0,
		"/bin/libc":                               0,
		"/bin/p":                                  0,
		"":                                        0,
	} {
		got := 0
		for bit, is := range map[int]func(string) bool{language: Language, runtime: Runtime, loader: Loader, cpp: CPlusPlus} {
			if is(file) {
				got |= bit
			}
		}
		if got != want {
			t.Errorf("%s: %04b, want %04b", file, got, want)
		}
	}
}

// TestFunctions checks the C library's functions beside functions of programs whose names begin
// alike.
func TestFunctions(t *testing.T) {
	for name, want := range map[string]struct{ object, threads bool }{
		"pthread_mutex_lock":               {true, true},
		"__pthread_mutex_lock":             {true, true},
		"___pthread_mutex_lock":            {true, true},
		"sem_wait":                         {true, true},
		"cnd_timedwait":                    {true, true},
		"pthread_create":                   {false, true},
		"thrd_join":                        {false, true},
		"call_once":                        {false, true},
		"__pthread_once_slow":              {false, true},
		"__cxa_guard_acquire":              {false, true},
		"__libc_start_call_main":           {false, true},
		"std::thread::join()":              {false, true},
		"_start":                           {false, true},
		"clone3":                           {false, true},
		"sem_pool_take":                    {},
		"sem_keep":                         {},
		"mtx_stats":                        {},
		"mtx_lock_all":                     {},
		"cnd_list_add":                     {},
		"thrd_pool":                        {},
		"pthread_mutex_lock_or_die":        {},
		"pthread_mutex_register":           {},
		"clone_buffer":                     {},
		"start_thread_pool":                {},
		"_start_worker":                    {},
		"stdlib::sort":                     {},
		"call_once_more":                   {},
		"":                                 {},
		"_ZN5Queue18pthread_mutex_lockEv":  {},
		"pthread_mutex_lock.constprop.0.x": {},
	} {
		if got := OnObject(name); got != want.object {
			t.Errorf("OnObject(%s) = %v", name, got)
		}
		if got := OfThreads(name); got != want.threads {
			t.Errorf("OfThreads(%s) = %v", name, got)
		}
	}
}
