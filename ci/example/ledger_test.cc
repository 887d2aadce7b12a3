// Three tests that pass. The second one has a deadlock all the same, in another schedule of its threads: the transfers
// are milliseconds apart, but nothing keeps them so.
#include "ledger.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace std::chrono_literals;

TEST(Ledger, TransfersOneWay) {
	Account a(100), b(100);
	std::thread clerk([&] { Account::transfer(a, b, 5); });
	clerk.join();
	EXPECT_EQ(a.balance(), 95);
	EXPECT_EQ(b.balance(), 105);
}

TEST(Ledger, TransfersBothWays) {
	Account a(100), b(100);
	std::thread there([&] { Account::transfer(a, b, 5); });
	std::thread back([&] {
		std::this_thread::sleep_for(20ms);
		Account::transfer(b, a, 7);
	});
	there.join();
	back.join();
	EXPECT_EQ(a.balance(), 102);
	EXPECT_EQ(b.balance(), 98);
}

TEST(Ledger, TransfersBothWaysSafely) {
	Account a(100), b(100);
	std::thread there([&] { Account::transfer_safely(a, b, 5); });
	std::thread back([&] {
		std::this_thread::sleep_for(20ms);
		Account::transfer_safely(b, a, 7);
	});
	there.join();
	back.join();
	EXPECT_EQ(a.balance(), 102);
	EXPECT_EQ(b.balance(), 98);
}
