# SPDX-License-Identifier: GPL-2.0-or-later
# error-texts.pl BINARY DIR SOURCES SCRATCH: see 11-error-texts.t. With UPDATE=1 the texts are written anew, for review.
#
# DIR/error-texts.golden is a list of
#	=== [OPTIONS] [| ARGUMENTS behind the script]
#	the script
#	--- EXIT CODE
#	what stands on stderr
# and of lines that begin with "## ", which are comments.
use strict;
use warnings;

my ($binary, $dir, $sources, $scratch) = @ARGV;
my ($tests, $failed) = (0, 0);

sub ok
{
	my ($good, $name, @why) = @_;
	$tests++;
	$name =~ s/\s+/ /g;
	$name =~ s/#/\\#/g;
	print $good ? '' : 'not ', "ok $tests - $name\n";
	return if $good;
	$failed++;
	print STDERR "# Failed test $tests: $name\n", map { "# $_\n" } @why;
}

sub slurp
{
	my $file = shift;
	open my $in, '<', $file or die "$file: $!";
	local $/;
	return scalar <$in> // '';
}

# The code and stderr of one run.
sub run
{
	my ($options, $script, $arguments) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', "$scratch/err";
		delete @ENV{grep { /^(BPFTRACE|PANTRACE)_/ } keys %ENV};
		exec $binary, '--dry-run', split(' ', $options), '-e', $script, split(' ', $arguments);
		die;
	}
	waitpid $pid, 0;
	return ($? & 127 ? 'signal ' . ($? & 127) : $? >> 8, slurp("$scratch/err"));
}

my @texts;
my $golden = "$dir/error-texts.golden";
my ($new, $block) = ('', undef);

sub judge
{
	my $b = shift or return;
	my ($options, $arguments) = split /\|/, $b->{options};
	my ($code, $err) = run($options // '', $b->{script}, $arguments // '');
	push @texts, grep { /^(.*: )?(ERROR|WARNING): / } split /\n/, $b->{err};
	$new .= ($b->{options} eq '' ? '===' : "=== $b->{options}") . "\n$b->{script}\n--- $code\n$err";
	ok("$code\n$err" eq "$b->{code}\n$b->{err}", $b->{script}, 'got:', $code, split(/\n/, $err), 'want:', $b->{code},
	   split(/\n/, $b->{err}));
}

for my $line (split /^/, slurp($golden)) {
	if ($line =~ /^## /) {
		judge($block);
		$block = undef;
		$new .= $line;
	} elsif ($line =~ /^=== ?(.*)$/) {
		judge($block);
		$block = {options => $1, script => '', err => ''};
	} elsif (!defined $block->{code} && $line =~ /^--- (.*)$/) {
		$block->{code} = $1;
		chomp $block->{script};
	} elsif (defined $block->{code}) {
		$block->{err} .= $line;
	} else {
		$block->{script} .= $line;
	}
}
judge($block);
if ($ENV{UPDATE}) {
	open my $out, '>', $golden or die "$golden: $!";
	print $out $new;
}

# ---- every message has an example
my %elsewhere = map { $_ => 1 } grep { length && !/^## / } split /\n/, slurp("$dir/error-texts.elsewhere");
my $calls = qr/\b(?:check_error|check_warning|diag_error|diag_warning|parse_error|lex_error|lower_error|fail)\(/;
my %formats;

for my $file (glob "$sources/*.c $sources/*/*.c") {
	my $text = slurp($file);
	while ($text =~ /$calls/g) {
		my ($depth, $format) = (1, undef);
		while ($depth && !defined $format && $text =~ /\G(?:([()])|"((?:[^"\\]|\\.)*)"|[^()"]+)/gcs) {
			$depth += $1 eq '(' ? 1 : -1 if defined $1;
			next unless defined $2;
			$format = $2;
			$format .= defined $1 ? $1 : 'd' while $text =~ /\G\s*(?:"((?:[^"\\]|\\.)*)"|PRI\w+)/gcs;
		}
		next unless defined $format;
		$format =~ s/\\n.*//s;
		$format =~ s/\\(.)/$1/g;
		$formats{$format} //= $file;
	}
}
for my $format (sort keys %formats) {
	my @parts = split /%%|%[-+ #0-9.*hlzj]*[a-zA-Z]/, $format, -1;
	next unless grep { length($_) > 5 } @parts;
	my $regex = join '.*', map { quotemeta } @parts;
	next if $elsewhere{$format} || grep { /$regex/ } @texts;
	ok(0, "an example of '$format'", "of $formats{$format}: add one to $golden, or say in error-texts.elsewhere why not");
}
ok(0, "a message '$_'", 'error-texts.elsewhere names it, the sources do not') for grep { !$formats{$_} } sort keys %elsewhere;
ok(1, scalar(keys %formats) . ' messages looked at');
print "1..$tests\n";
exit($failed ? 1 : 0);
