package probes

import "testing"

// TestAtomicNames checks which functions count as parts of atomic types, by the names that compilers give them.
func TestAtomicNames(t *testing.T) {
	for name, want := range map[string]bool{
		"_ZNKSt13__atomic_baseIiE4loadESt12memory_order":                                             true,
		"_ZNVSt6atomicIbE5storeEbSt12memory_order":                                                   true,
		"_ZN4core4sync6atomic11atomic_load17h0123456789abcdefE":                                      true,
		"_RINvNtNtCsgEmfK2I1SDS_4core4sync6atomic23atomic_compare_exchangejECsjrHSEGnQ3l9_3std":      true,
		"_RNvMs1v_NtNtCsgEmfK2I1SDS_4core4sync6atomicNtB6_11AtomicUsize16compare_exchange":           true,
		"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended":            false,
		"_RINvNtCsgEmfK2I1SDS_4core3mem4swapNtNtNtB4_4sync6atomic10AtomicBoolECsjrHSEGnQ3l9_3std":    false,
		"_RINvCsjrHSEGnQ3l9_3app3runNtNtNtCsgEmfK2I1SDS_4core4sync6atomic10AtomicBoolECsjrHSEGnQ3l9": false,
		"_ZN3app3runERSt6atomicIbE": false,
		"":                          false,
	} {
		if got := atomicNames.MatchString(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestKindsOfAtomicNames checks what functions of atomic types are known to do by their names.
func TestKindsOfAtomicNames(t *testing.T) {
	for name, want := range map[string]string{
		"_ZNKSt13__atomic_baseIiE4loadESt12memory_order":                                        "load",
		"_ZNKSt13__atomic_baseIiEcviEv":                                                         "load",
		"_ZN4core4sync6atomic11atomic_load17h0123456789abcdefE":                                 "load",
		"_ZNVSt6atomicIbE5storeEbSt12memory_order":                                              "store",
		"_ZNSt13__atomic_baseIiEaSEi":                                                           "store",
		"_ZNSt11atomic_flag5clearESt12memory_order":                                             "store",
		"_ZN4core4sync6atomic12atomic_store17h0123456789abcdefE":                                "store",
		"_ZNSt13__atomic_baseIiEpLEi":                                                           "modify",
		"_ZNSt13__atomic_baseIP3abcEmmEi":                                                       "modify",
		"_ZNSt13__atomic_baseIiE9fetch_addEiSt12memory_order":                                   "modify",
		"_ZNSt13__atomic_baseIiE23compare_exchange_strongERiiSt12memory_orderS2_":               "modify",
		"_ZNSt3__117__cxx_atomic_fetch_addB6v15007IiEEvv":                                       "modify",
		"_ZNSt11atomic_flag12test_and_setESt12memory_order":                                     "modify",
		"_RINvNtNtCsgEmfK2I1SDS_4core4sync6atomic23atomic_compare_exchangejECsjrHSEGnQ3l9_3std": "modify",
		"_ZN4core4sync6atomic10atomic_add17h0123456789abcdefE":                                  "modify",
		"_ZNSt8__detail21__platform_wait_until_":                                                "",
	} {
		got := ""
		switch {
		case modifyingNames.MatchString(name):
			got = "modify"
		case storingNames.MatchString(name):
			got = "store"
		case loadingNames.MatchString(name):
			got = "load"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
