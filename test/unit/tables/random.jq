# Numbers that look random, and are always the same for the same $n and $purpose.

def next: . * 48271 % 2147483647; # Lehmer's generator; a product is less than 2^53

# output: a whole number from 0 on
def random($n; $purpose): ($n * 613 + $purpose * 104729 + 1) % 2147483647 | next | next | next;

# output: an element of the list
def pick($n; $purpose; $list): $list[random($n; $purpose) % ($list | length)];
