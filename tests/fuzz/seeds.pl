#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# seeds.pl TARGET DIRECTORY: one well-formed input or a few for a fuzz target that reads bytes, for mutations to begin at.
use strict;
use warnings;

my ($target, $dir) = @ARGV;
my $count = 0;

sub seed { open(my $f, '>', sprintf("%s/seed-%02d", $dir, $count++)) or die "$dir: $!"; binmode $f; print $f @_; close $f }

my $page_header = <<'END';
	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:240;	signed:0;
END
my $event_header = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
	. "\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
my $common = join '', map { sprintf "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", @$_ }
	['unsigned short common_type', 0, 2, 0], ['unsigned char common_flags', 2, 1, 0],
	['unsigned char common_preempt_count', 3, 1, 0], ['int common_pid', 4, 4, 1];

sub format_of
{
	my ($name, $id, $print, @fields) = @_;

	return "name: $name\nID: $id\nformat:\n$common\n" . join('', map { sprintf "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", @$_ } @fields)
		. "\nprint fmt: $print\n";
}
my $wakeup = format_of('wakeup', 7, '"comm=%s pid=%d flags=%s path=%s", REC->comm, REC->pid, __print_flags(REC->flags, "|", {1, "A"}, {2, "B"}), __get_str(path)',
	['char comm[16]', 8, 16, 0], ['pid_t pid', 24, 4, 1], ['unsigned long flags', 32, 8, 0], ['__data_loc char[] path', 40, 4, 0]);
my $record = pack('SCCl Z16 l x4 Q L Z8', 7, 0, 1, 42, 'bash', 42, 3, 44 | 8 << 16, '/a/b');
# Commands of devices, and a format that prints into the buffer itself.
my @device_fields = (['u32 a', 8, 4, 0], ['u32 b', 12, 4, 0], ['__data_loc unsigned char[] cmnd', 16, 4, 0], ['u8 words[24]', 20, 24, 0], ['char disk[8]', 44, 8, 1]);
my @devices = map { format_of('device', 8, $_, @device_fields) }
	'"(%s raw=%s)", scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), REC->a), __print_hex(__get_dynamic_array(cmnd), REC->a)',
	'"%s%s %s %s", libata_trace_parse_status(p, REC->a), libata_trace_parse_qc_flags(p, REC->b), libata_trace_parse_subcmd(p, REC->a, REC->b, 1), xen_hypercall_name(REC->b)',
	'"%scmd=(%s %s)", nvme_trace_disk_name(p, REC->disk), ((REC->a) ? nvme_trace_parse_nvm_cmd(p, REC->b, REC->words) : nvme_trace_parse_admin_cmd(p, REC->b, REC->words)), nvme_trace_parse_fabrics_cmd(p, REC->a, REC->words)',
	'"%s", ({ const char *s = trace_seq_buffer_ptr(p); static const char *n[] = { "a", "b" }; trace_seq_printf(p, "%s %u%c", n[REC->a], REC->b, 0); s; })';
my $device = pack('SCCl LLL C24 Z8 C16', 8, 0, 1, 42, 1, 2, 52 | 16 << 16, 1 .. 24, 'nvme0n1', 0x9e, 0x10, (7) x 14);
# An event, an extended time, an event with its length behind the head, a page's padding.
my $events = pack('L', (length($record) / 4) | 5 << 5) . $record . pack('LL', 30 | 7 << 5, 1) . pack('LL', 0, 4 + length $record) . $record . pack('LL', 29, 8);
my $page = pack('QQ', 1_000_000, length $events) . $events;

sub sized { my ($as, $text) = @_; return pack($as, length $text) . $text }
sub headers { return "header_page\0" . sized('Q', $page_header) . "header_event\0" . sized('Q', $event_header) }
sub formats { return pack('L', 1) . "sched\0" . pack('L', 1) . sized('Q', $wakeup) }
my $magic = "\x17\x08\x44tracing";
my $symbols = "ffffffff81000000 T start\nffffffff81000100 t next\t[module]\n";
my $strings = "0xffffffff82000000 : \"text\"\n";

sub trace_dat_6
{
	my $head = $magic . "6\0" . pack('CCL', 0, 8, 256) . headers() . pack('L', 0) . formats() . sized('L', $symbols) . sized('L', $strings)
		. sized('Q', "42 bash\n") . pack('L', 1) . "options  \0" . pack('S', 4) . sized('L', "local [mono] boot\0") . pack('S', 5)
		. sized('L', "Linux here\0") . pack('S', 0) . "flyrecord\0";

	return $head . pack('QQ', 16 + length $head, length $page) . $page;
}

sub trace_dat_7
{
	my $file = $magic . "7\0" . pack('CCL', 0, 8, 256) . "none\0\0";
	my (%at, $options);
	my $sections = '';
	my $begin = 8 + length $file;

	for ([16, headers()], [17, pack('L', 0)], [18, formats()], [19, sized('L', $symbols)], [20, sized('L', $strings)], [21, sized('Q', "42 bash\n")]) {
		my ($id, $data) = @$_;

		$at{$id} = $begin + length $sections;
		$sections .= pack('SSL', $id, 0, 0) . sized('Q', $data);
	}
	$at{page} = $begin + length $sections;
	$sections .= $page;
	$options = join '', map { pack('SLQ', $_, 8, $at{$_}) } 16 .. 21;
	$options .= pack('S', 3) . sized('L', pack('Q', 0) . "\0mono\0" . pack('LLLQQ', 256, 1, 0, $at{page}, length $page));
	$options .= pack('SLQ', 0, 8, 0);
	return $file . pack('Q', $begin + length $sections) . $sections . pack('SSL', 0, 0, 0) . sized('Q', $options);
}

sub pages
{
	seed("\x00" . $page);
	seed("\x01$_\0$device") for @devices;
	seed("\x01" . $wakeup . "\0" . $record);
	seed("\x02" . trace_dat_6());
	seed("\x02" . trace_dat_7());
	# every other way to print: the kernel's own formats
	for my $name (map { substr $_, 0, -7 } glob '/sys/kernel/tracing/events/*/*/format') {
		open(my $f, '<', "$name/format") or next;
		my $text = do { local $/; <$f> };
		next unless $text =~ /__print|%p|__get|\?/ && length $text < 6000 && $count < 300;
		seed("\x01$text\0" . "\0" x 200);
	}
}

sub formats_only
{
	for my $name (glob '/sys/kernel/tracing/events/*/*/format') {
		open(my $f, "<", $name) or next;
		seed(do { local $/; <$f> }) if $count < 200;
	}
	seed($wakeup);
}

# The two kinds of metadata of ctf.c.
sub packets
{
	my $fields = pack('L Z* L QQ', 5, 'ab', 2, 10, 11);
	my $body = pack('QL', 2000, 1) . $fields;
	my $context = pack('QQ QQ QQ L', 1000, 3000, 0, 0, 0, 0, 1);

	$body = "\0" x (-(8 + length $context) % 8) . $body;
	my $bits = 8 * (8 + length($context) + length $body);
	my $packet = pack('LL', 0xc1fc1fc1, 0) . pack('QQ QQ QQ L', 1000, 3000, $bits, $bits, 0, 0, 1) . $body;

	seed(chr($_) . $packet . $packet) for 0, 2, 4, 32;
	seed(chr($_) . pack('C C N C C a*', 0, 0, 5 << 27 | 100, 7, 3, "\x11" x 60)) for 1, 3, 33;
	# time goes back by more than 2^63
	seed(pack('H*', '2100022856000000014000000048006403111100ffffffff0080000000009e03000000000000380300111111111111111111111111c911000000fb000000000008000000'));
}

# trace-cmd's messages: an answer, a request, clocks that are compared.
sub tracecmd
{
	my $message = sub { my ($kind, $head, $data) = @_; return pack('NNN', 12 + length($head . $data), $kind, length $head) . $head . $data };
	my $sync = sub { return $message->(9, pack('a16N', 'ptp', $_[0]), $_[1]) };
	my $words = pack('NNN', 0, 4 + 6, 2) . "-e\0aa\0";
	seed($message->(7, pack('NNNNNa16N', 0, 2, 4096, 0, 1, 'ptp', 1505), "1501\0001502\0"));
	seed($message->(6, pack('NNNN', 0, 0, 0, 1), $words . pack('NN', 1, 5) . "ptp\0\0"));
	seed(join '', $sync->(1, pack('NN', 1, 3)), (map { $sync->(2, pack('N', $_)) } 1 .. $_), $sync->(5, ''), $sync->(4, pack('NNNN', 0, 5, 0, 1))) for 1, 3, 100;
	# of the host: the beginning and the probes come back, then its times
	seed($message->(9, pack('a16N', 'none', 1), "\0\0") . join '', $sync->(1, pack('NN', 1, 3)), map { $sync->(2, pack('N', $_)) } 1 .. 150);
}

# What an agent sends: {kind, u16 size, body}*, which the target makes frames of; and the file of a clock.
sub agent
{
	my ($file, $write, $pack, $text) = (6, 7, 8, 9);
	my $message = sub { my ($kind, $body) = @_; pack('C v', $kind, length $body) . $body };
	my $named = $message->($file, pack('V V', 1, 0) . 'trace.dat');
	my $plan = pack('Q< Q< Q< V V Q< Q< Q< Q<', 8192, 64, 16, 4096, 1, 0, 4096, 4092, 40);

	seed("\001" . $named . $message->($write, pack('V V Q<', 1, 0, 0) . 'x' x 4096) . $message->($write, pack('V V Q<', 1, 0, 8192) . 'h' x 64)
		. $message->($pack, pack('V V', 1, 0) . $plan));
	seed("\001" . $message->($file, pack('V V', 1, 0) . 'chunk-000001/app-12/ring_0') . $message->($write, pack('V V Q<', 1, 0, 77) . 'abc') . $message->($text, 'a line'));
	seed("\002" . pack('V V Q<', $text, 4, 0) . 'word');
	seed("pantrace-clock 1\nmachine vm\nrealtime 5\nhost-realtime 7\nexchange 10 100 110 40\nexchange 60 150 155 80\nexchange 900000 300 350 900090\ntsc 900100 400 400 900101\nptp 900200 500 500 900201\n");
}

sub relay
{
	my $open = pack('LLQ a64', 5, 1, 64, 'app-1');
	my $data = sub { my ($offset, $bytes) = @_; pack('LLQ a32 Q x8 x56', 7, 1, 104 + length $bytes, 'ring_0', $offset) . $bytes };

	seed("\x01" . $open . $data->(0, 'abcdefgh') . $data->(8, 'ij') . pack('LLQ', 9, 1, 0));
	seed("\x01" . pack('LLQL', 4, 0, 4, 1) . $open . $data->(0, 'abc'));
	# a file that is written at two places, then packed; 6, 7, 8: kinds of protocol.h
	my $carried = sub { my ($kind, $body) = @_; pack('LLQ', 10, $kind, length $body) . $body };
	seed("\x01" . $carried->(6, pack('LL', 1, 0) . 'trace.dat') . $carried->(7, pack('LLQ', 1, 0, 4096) . 'abcd') . $carried->(7, pack('LLQ', 1, 0, 0) . 'head') . $carried->(8, pack('LL', 1, 0) . "\0" x 64));
}

sub filters
{
	my $end = pack('Q', 0x95);
	my $start = pack('CC', 2, 1) . "\x02" . pack('C', 8) . pack('Q', 77); # two fields, a record of 8 bytes

	# r0 = 1; r0 = *(u64 *)(r1 + 8); if r0 > 5 goto +1; r0 = 0
	seed($start . pack('CCsl', 0xb7, 0, 0, 1) . $end);
	seed($start . pack('CCsl', 0x79, 0x10, 8, 0) . pack('CCsl', 0x25, 0, 1, 5) . pack('CCsl', 0xb7, 0, 0, 0) . $end);
	# every operation, mended
	seed("\x82" . substr($start, 1) . pack('Q', 5) x 9 . join('', map { pack('CCsl', $_, 0x30, 0, 16) } 8 * $_ .. 8 * $_ + 7) . $end) for 0 .. 31;
	seed($start . pack('CCsl', 0x7b, 0x1a, -8, 0) . pack('CCsl', 0x79, 0xa0, -8, 0) . pack('CCsl', 0x0f, 0x10, 0, 0) . pack('CCsl', 0x85, 0, 0, 1) . $end);
}

# Changes of the whole file that the target makes: where, offset, value (rings.c).
sub scribbles
{
	my $change = sub { my ($area, $offset, $value) = @_; pack('CSQ', $area, $offset, $value) };
	my @sizes = map { $change->(3 << 2, 12 + 4 * $_, 1 << (8 + $_)) } 0 .. 6;
	my @ring = map { $change->(1 | 3 << 2, 8 * $_, 4096 * ($_ + 1)) } 0, 1, 2, 8;
	my @records = map { $change->(2 | 2 << 2, 8 * $_, 24) } 0 .. 5;
	my @packets = map { $change->(3 | 3 << 2, 4096 * $_ + 40, 800 * $_) } 0 .. 7;

	for my $how (0 .. 63) {
		seed(pack('CC', $how, 0) . join '', @ring);
		seed(pack('CC', $how, 3) . join '', @packets, @records, @sizes) if $how % 3 == 0;
	}
}

# What programs answer to "list", and what no program would.
sub answers
{
	my $events = "event 2 0 6 shop:order 7:id 13:url\nevent 1 1 14 shop:item 22:box 70:color:red=0,green=-1 23: 102:bytes:12 36:list 12:yes\n";

	for my $how ("\x00", "\x01", "\x02") {
		seed($how . "ok\nlibrary 1 0.1.0\nprocess 7 1\n$events");
		seed($how . "more\n$events\xffmore\nsession work running 3 0 -\nrefused 1 2\n\xffok\nevent 1 0 6 a:b 7:\n");
		seed($how . "error 22 not now\n");
		seed($how . "\xff");
	}
}

# Requests of the control socket; what stands in the file of a session is read from the same bytes.
sub control
{
	seed("pantrace 1 0.1.0 $_") for "start\nname f\nfor all\nmode overwrite\nsub-size 4096\nsubs 2\nenable fuzz:* =5\ndisable *:x 3\n",
		"start\nname g\nmode block\nblock 10\nsub-size 4096\nsubs 2\ncontexts vpid,vtid,ip\nclock 1000 2 3 4\nenable fuzz:*\n",
		"rules f\nenable a:* 3\n", "attach f\n", "list\n", "stop f\n", "resume f\n", "destroy f\n";
	seed("pantrace-session 1\n# note\nname w\nfor name x y\nfor pid 3\ndirectory /nowhere\nfilter fuzz:event 00ff\nthreads\n");
}

sub description
{
	my $lines = "name work\nfor name a*\nfor pid 7\ndirectory /dev/shm/pantrace-0/work\nmode overwrite\nsub-size 4096\nsubs 8\nblock 5\nthreads\ncontexts vpid,vtid\n"
		. "clock 1000000000 1 2 3\nenable a:* =6\ndisable a:b\nask /run/pantrace/ask-7\n";

	seed("pantrace-session 1\n# recorder 7 1234\n# output /tmp/x y\n# anonymous\n# predicate args.x > 5\n$lines");
	seed("pantrace-session 1\n$lines");
}

sub journal
{
	seed("tracing_on 1\n1\nset_event 17\nsched:*\nirq:irq_*\n\nper_cpu/cpu0/buffer_size_kb 4\n1408\n");
	seed("trace 0\n\nevents/enable 1\n0\nset_ftrace_pid 3\n");
}

# Changes of the constants, of a slot, a key's length, values: u32 offset, u8 how many, bytes; the first byte of all says how many
# are made before the tool looks.
sub counting
{
	for my $before (0, 1, 9) {
		seed(pack('C', $before) . join '', map { pack('LC', $_, 4) . pack('L', 0xffffffff) } 8, 12, 136, 144, 152, 160, 176, 184, 4096, 8192);
		seed(pack('C', $before) . join '', map { pack('LC', $_, 8) . pack('Q', 1) } 0, 16, 216, 4096 .. 4100, 8192, 12288, 16384);
	}
}

# The reader of trace.dat, and each format (text.c).
sub recordings
{
	seed("\x03" . chr($_) . ($_ % 2 ? trace_dat_6() : trace_dat_7())) for 0 .. 8;
}

my %targets = (text => \&recordings, control => \&control, rings => \&scribbles, answers => \&answers, description => \&description, journal => \&journal, counting => \&counting, page => \&pages, format => \&formats_only, ctf => \&packets, relay => \&relay, agent => \&agent, tracecmd => \&tracecmd, vm => \&filters);
$targets{$target}->() if $targets{$target};
