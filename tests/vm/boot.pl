#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the initramfs, boots QEMU, turns the console's text into one TAP stream.
use strict;
use warnings;
use File::Path qw(make_path remove_tree);
use File::Basename;
use IO::Select;

my $kernel = $ENV{VM_KERNEL} // 'build/vm/kernel';
my $binary = $ENV{PANTRACE} // 'build/pantrace';
my $timeout = $ENV{VM_TIMEOUT} // 5400;
my $guest = $ENV{VM_GUEST} // 'older';
my @tests = map { basename($_, '.sh') } grep { is_for_guest($_) } sort glob 'tests/vm/*.sh';
# VM_PART=1/2: every second of them; a guest has one thread, and two work beside each other.
my ($part, $parts) = split m{/}, $ENV{VM_PART} // '1/1';
# Tests of a boot of their own come behind the one that says its command line.
my %later;
for my $test (@tests) {
	my ($first) = reboot_of($test) or next;
	push @{$later{$first}}, $test;
}
@tests = grep { !reboot_of($_) } @tests;
if ($ENV{VM_TESTS}) {
	if ($part > 1) { print "1..0 # SKIP the tests of VM_TESTS run in one guest\n"; exit 0 }
	my %seen;
	@tests = grep { !$seen{$_}++ } map { (reboot_of($_))[0] // $_ } split ' ', $ENV{VM_TESTS};
} else {
	@tests = @tests[grep { $_ % $parts == $part - 1 } 0 .. $#tests];
}
my @later = map { @{$later{$_} // []} } @tests;

# A test says in its head in which guests it runs: "# guest: older newer". What has been seen in one need not be seen again in the
# other but for a release: "# guest: older; check-all: newer".
sub is_for_guest
{
	my $file = shift;
	open my $f, '<', $file or return 0;
	my ($head) = grep { /^# guest: / } <$f> or die "$file does not say in which guests it runs (# guest: ...)\n";
	$head =~ s/; check-all:.*// if !$ENV{VM_ALL};
	return $head =~ /\b\Q$guest\E\b/;
}

# "# reboot: NAME": the test runs in a boot of its own, whose command line also has what the test NAME said in a line
# "@@ line TEST PARAMETERS". "resets" behind NAME: the guest may start anew, and
# has a disk to write to, /dev/vda.
sub reboot_of
{
	open my $f, '<', "tests/vm/$_[0].sh" or return;
	return map { /^# reboot: (.*)/ ? split(' ', $1) : () } <$f>;
}

# "# modules: xfs": loaded for this test only, as each makes the kernel's lists of functions longer for all others.
sub modules_of
{
	open my $f, '<', "tests/vm/$_[0].sh" or return;
	return map { /^# modules: (.*)/ ? split(' ', $1) : () } <$f>;
}

sub bail { print "Bail out! @_\n"; exit 1 }
-e "$kernel/vmlinuz" or bail("no guest kernel in $kernel (scripts/deps.sh test unpacks one)");
-x $binary or bail("no binary $binary");
bail('no tests') unless @tests;
# The guest has no shared libraries, so a sanitizer build cannot run in it.
if (`file -b '$binary' 2>/dev/null || readelf -l '$binary'` =~ /dynamically linked|INTERP/) {
	print "1..0 # SKIP the guest needs a static binary\n";
	exit 0;
}

# ---- initramfs
my ($release) = map { basename($_) } glob "$kernel/modules/*";
my $root = "build/vm/root.$$";
# Disks of its own drivers, which only one test wants, and loads.
my $with_drivers = grep { $_ eq 'trace-drivers' } @tests;
my %modules = (map { ($_ => [modules_of($_)]) } @tests, @later);
$modules{drivers} = [qw(sd_mod scsi_debug ata_piix)] if $with_drivers;
remove_tree($root);
make_path(map { "$root/$_" } qw(bin dev proc sys tmp tests programs root etc modules var/tmp lib/debug));
system("cp /bin/busybox $root/bin/busybox") == 0 or bail('busybox');
# awk reads lists of a hundred thousand functions: mawk, with the libraries that it wants, takes a third of busybox's time.
system("cp /usr/bin/mawk $root/bin/ && ldd /usr/bin/mawk | grep -o '/[^ ]*' | cpio -pdmuL --quiet $root") == 0 or bail('mawk');
system("cp '$binary' $root/bin/pantrace && strip -g $root/bin/pantrace") == 0 or bail('copy');
system("cp tests/tap.sh tests/kill9.sh tests/vm/init $root/ && cp tests/vm/lib $root/lib.sh && cp tests/vm/*.sh $root/tests/") == 0 or bail('copy tests');
system("cp doc/tutorial.md doc/one-liners.md $root/tests/");
system("cp -r tests/vm/data $root/data") if -d 'tests/vm/data';
system("for f in build/programs/*; do case \$f in *.dyn) ;; *) cp \$f $root/programs/;; esac; done") if -d 'build/programs';
system("cp -r $ENV{VM_EXTRA}/. $root/") if $ENV{VM_EXTRA};
# "# peer: trace-cmd": the program of this machine with its libraries, if it is installed.
sub peers_of
{
	open my $f, '<', "tests/vm/$_[0].sh" or return;
	return map { /^# peer: (.*)/ ? split(' ', $1) : () } <$f>;
}
for my $program (map { peers_of($_) } @tests) {
	my $path = `command -v $program 2>/dev/null` or next;
	chomp $path;
	# pthread_exit() loads libgcc_s by itself
	system("cp -L --parents $_ $root/") for $path, map({ m{(/\S+)} ? $1 : () } `ldd $path`), glob '/lib/*/libgcc_s.so.1';
	system("ln -s $path $root/programs/$program");
}
# Unit tests that have the kernel as the judge.
for my $unit (map { dirname($binary) . "/obj/release/unit/$_" } qw(trace_live)) {
	system("cp $unit $root/programs/ && strip -g $root/programs/" . basename($unit)) if -x $unit;
}
{
	my %files = map { my $n = basename($_); $n =~ s/\.ko(\.xz|\.zst)?$//; $n =~ tr/-/_/; ($n => $_) }
		split /\n/, `find '$kernel/modules/$release' -name '*.ko*'`;
	my %deps;
	open my $f, '<', "$kernel/modules/$release/modules.dep" or bail("modules.dep: $!");
	while (<$f>) {
		my ($m, @d) = map { my $n = basename($_); $n =~ s/\.ko.*$//; $n =~ tr/-/_/; $n } split /[:\s]+/;
		$deps{$m} = \@d;
	}
	# modules/LIST: them and what they need, in the order in which they are loaded, without those that always are
	my $write = sub {
		my ($list, $have, @names) = @_;
		my %seen = %$have;
		open my $o, '>', "$root/modules/$list" or bail($!);
		my $add;
		$add = sub {
			my $m = shift;
			return if $seen{$m}++;
			$add->($_) for @{$deps{$m} // []};
			return unless $files{$m};
			system($files{$m} =~ /\.xz$/ ? "xz -dc $files{$m} > $root/modules/$m.ko" : "cp $files{$m} $root/modules/$m.ko");
			print $o "$m\n";
		};
		$add->($_) for @names;
		return \%seen;
	};
	my $always = $write->('always', {}, qw(loop virtio virtio_ring virtio_pci virtio_blk));
	$write->($_, $always, @{$modules{$_}}) for grep { @{$modules{$_}} } sort keys %modules;
}
open my $list, '>', "$root/tests/list" or bail($!);
print $list "$_\n" for @tests;
close $list;
chmod 0755, "$root/init";
# Not compressed: the guest takes a second of CPU to undo it.
my $image = "build/vm/initramfs.$$";
system("cd $root && find . | cpio -o -H newc --quiet > ../initramfs.$$") == 0 or bail('cpio');
remove_tree($root);

# ---- boot
# Without cmpxchg16b: QEMU 7.2 emulates it wrongly now and then (flags of another register), which newer kernels'
# allocator does not survive. One thread for both CPUs: with two, a CPU that runs code which the other one patches (ftrace, kprobes)
# now and then never sees the new bytes, and both hang. What makes emulation slow and shows no test anything is left out: five levels
# of pages, guards of user memory, memory that is zeroed when it is had, long grace periods, copies byte by byte (erms: QEMU emulates one
# byte at a time what others do by eight).
my @qemu = ('qemu-system-x86_64', '-accel', 'tcg,thread=' . ($ENV{VM_THREADS} // 'single'), '-cpu', $ENV{VM_CPU} // 'max,-cx16,-la57,-smap,-smep,-umip,-erms', '-smp', $ENV{VM_CPUS} // '2', '-m', $ENV{VM_MEMORY} // '1024',
	'-kernel', "$kernel/vmlinuz", '-initrd', $image, '-nographic', '-nodefaults', '-serial', 'stdio',
	split ' ', $ENV{VM_QEMU} // '');
my $command_line = 'console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable nowatchdog init_on_alloc=0 apparmor=0 rcupdate.rcu_expedited=1';
my $disk = "build/vm/disk.$$";
my $port = "/tmp/pantrace-vm.$$.sock"; # its end of a serial port, for tests that have a part out here; QEMU's monitor, .qmp and .monitor
push @qemu, '-device', 'virtio-serial-pci', '-chardev', "socket,id=pt,path=$port,server=on,wait=off", '-device', 'virtserialport,chardev=pt,name=pantrace.0',
	'-qmp', "unix:$port.qmp,server=on,wait=off", '-monitor', "unix:$port.monitor,server=on,wait=off", '-device', 'vmcoreinfo'
	if grep { -e "tests/vm/$_.host" } @tests;
if ($with_drivers) {
	for my $n (0, 1) { open my $f, '>', "$disk.$n" or bail($!); truncate $f, 16 << 20 }
	push @qemu, '-drive', "file=$disk.0,format=raw,if=ide", '-drive', "file=$disk.1,format=raw,if=none,id=nvme", '-device', 'nvme,serial=1,drive=nvme';
}
# "# disk: debug": a disk with the debug information of the guest's kernel and its drivers of disks, if it is installed here.
my $debug = $ENV{VM_DEBUG} // "/usr/lib/debug/boot/vmlinux-$release";
if (-e $debug && grep { my $test = $_; open my $f, '<', "tests/vm/$test.sh"; grep { /^# disk: debug/ } <$f> } @tests) {
	make_path("$disk.debug/boot");
	my $drivers = dirname($debug) . "/../lib/modules/$release/kernel/drivers/block";
	make_path("$disk.debug/lib/modules/$release") and system("cp -r '$drivers' $disk.debug/lib/modules/$release/") if -d $drivers;
	system("cp -L --reflink=auto '$debug' $disk.debug/boot/vmlinux-$release && mke2fs -q -t ext4 -O ^has_journal -d $disk.debug $disk.2 " .
		(int((-s $debug) / 1e6) + 64) . 'M >/dev/null') == 0 or bail('mke2fs');
	remove_tree("$disk.debug");
	push @qemu, '-drive', "file=$disk.2,format=raw,if=virtio,readonly=on";
}
# However this ends, nothing is left.
my $pid;
$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);
END {
	my $code = $?;
	kill 'KILL', $pid if $pid;
	unlink $image, $port, "$port.qmp", "$port.monitor", map { "$disk.$_" } 0 .. 3;
	$? = $code;
}
my $deadline = time + $timeout;
my ($count, $failed, $current, $begun, $begun_cpu) = (0, 0, '', 0, 0);
# Seconds of CPU that the guest has had: unlike those on a clock, they do not grow on a busy machine.
sub cpu_seconds { open my $f, '<', "/proc/$pid/stat" or return 0; my @word = split ' ', <$f> =~ s/.*\)//r; return ($word[11] + $word[12]) / 100 }
my (%plan, %line);
# What stands around a failure goes to stderr, too: prove passes that on, so that the log of a run says what failed and how.
my ($telling, @before) = (0);
sub tell_failure { print STDERR "# $_\n" for "Failed test $count of the guest: @_", @before; @before = (); $telling = 1 }
sub fail { $count++; $failed++; print "not ok $count - @_\n"; tell_failure(@_) }
(my $console_log = basename($kernel)) =~ s/^(kernel)?/console/; # console.log, console-newer.log
$console_log = "build/vm/$console_log" . ($part > 1 ? "-$part" : '') . '.log';
open my $keep, '>', $console_log;
$keep->autoflush(1);

# tests/vm/NAME.host runs outside while NAME runs in the guest, with the socket of its port pantrace.0 (and QEMU's own, SOCKET.qmp) and
# QEMU's process; what it says counts as the test's own.
my $beside;
sub host_begin
{
	my $host = "tests/vm/$_[0].host";
	return unless -e $host;
	open $beside, '-|', 'sh', $host, $port, $pid or bail("$host: $!");
}

sub host_end
{
	return unless $beside;
	my @lines = <$beside>;
	close $beside;
	$beside = undef;
	chomp @lines;
	one_line($_) for @lines;
}

sub one_line
{
	my $line = shift;
	printf $keep "%7.1f %s\n", cpu_seconds(), $line;
	if ($line =~ /@@ begin (\S+)$/) { $current = $1; $plan{$1} = 0; $begun = time; $begun_cpu = cpu_seconds(); host_begin($1); return }
	if ($line =~ /^@@ line (\S+) (.*)/) { $line{$1} = $2; return }
	if ($line =~ /^@@ end (\S+) (\d+)/) {
		host_end();
		$line =~ /^@@ end (\S+) (\d+)/; # once more
		printf $keep "# $1: %d s, %.1f s of CPU\n", time - $begun, cpu_seconds() - $begun_cpu;
		fail("$1: " . ($2 ? "ended with code $2" : 'no tests or no plan')) if $2 != 0 || !$plan{$1};
		$current = '';
		return;
	}
	return unless $current;
	if ($line =~ /^(not )?ok\b\s*\d*\s*-?\s*(.*)/) {
		$count++;
		$failed++ if $1;
		$plan{$current}++;
		print $1 // '', "ok $count - $current: $2\n";
		$telling = 0;
		tell_failure("$current: $2") if $1;
		@before = ();
	} elsif ($line !~ /^1\.\.\d+/) {
		print "# $line\n";
		print STDERR "# $line\n" if $telling;
		push @before, $line;
		shift @before if @before > 8;
	}
}

# Boots the guest with these further words of the kernel's command line, and options of QEMU.
sub run_guest
{
	my ($words, @options) = @_;
	my $finished = 0;
	my $buffer = '';
	$pid = open my $console, '-|', @qemu, '-append', "$command_line $words", @options or bail("qemu: $!");
	my $select = IO::Select->new($console);
	while (!$finished) {
		my $left = $deadline - time;
		last if $left <= 0;
		next unless $select->can_read($left);
		last unless sysread $console, $buffer, 65536, length $buffer;
		while ($buffer =~ s/^([^\n]*)\n//) {
			(my $line = $1) =~ s/\r//g;
			one_line($line);
			$finished = 1 if $line =~ /^@@ finished/;
		}
	}
	if (!$finished) {
		print "# console: $console_log\n";
		fail('the guest finished' . ($current ? " (stopped in $current)" : ''));
	}
	kill 'KILL', $pid;
	close $console;
	$pid = undef;
}

run_guest('', '-no-reboot');
for my $test (@later) {
	my ($first, @how) = reboot_of($test);
	my $resets = grep { $_ eq 'resets' } @how;
	if (!defined $line{$test}) { fail("$test: $first said no command line for it"); next }
	my @options = $resets ? ('-drive', "file=$disk.3,format=raw,if=virtio") : '-no-reboot';
	bail('mke2fs') if $resets && system("truncate -s 32M $disk.3 && mke2fs -q -F -t ext4 $disk.3");
	run_guest("$line{$test} tests=$test", @options);
	unlink "$disk.3";
}
print "1..$count\n";
exit($failed ? 1 : 0);
