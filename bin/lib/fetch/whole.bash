# whole - when a list is believed
#
# An outage must not look like an empty cluster, so a list counts only if all of it is there:
# 1. its beginning, while it is read: see is_whole_head;
# 2. its end, when it is summarised: see split_items;
# 3. each of its items, then, too: see read_item in items.jq.
# And a snapshot counts only if all lists are in it: its last line says so, and route looks for that line.
#
# shellcheck shell=bash disable=SC2154 # folder is of lists.bash, body of api.bash

source "$bin/lib/api.bash" # answer_of, rest_of_answer, tell_what_is_missing, fail

# Prints the items of a list, as they come. Its head is checked and left out: its resourceVersion follows every write in
# the cluster. (answer_of sets body to how the answer begins. If there is a `kubectl proxy`, it asks that for the same
# path. Of a short list, take_short_list checks the head in the same way.)
read_items() { # PATH KIND
  answer_of kubectl get --raw "$1"
  is_whole_head "$2" "${body%%'['*}" || tell_what_is_missing "$2" "${body%%'['*}"
  printf '%s' "${body#*'['}"
  rest_of_answer
}

# A list begins with its head: {"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"4711"},"items":[
# By the Kubernetes API conventions (lists and paging), it must have the kind that was asked for, items, a
# resourceVersion, and no continue token, which would say that this is only the first page.
is_whole_head() { # KIND HEAD
  local metadata='("[a-zA-Z]+":[^][{}]+,)?"resourceVersion":"[^"]+"(,"[a-zA-Z]+":[^][{}]+)?'
  local whole='^\{"kind":"'$1'","apiVersion":"[^"]*","metadata":\{'$metadata'\},"items":$'
  [[ $2 =~ $whole && $2 != *'"continue":"'[!\"]* ]]
}

# Prints whether the list that was read is, byte for byte, the "same" as the one that was summarised last, or "new".
compare() { # NAME
  if cmp -s "$folder/new/$1" "$folder/last/$1"; then echo "$1 same"; else echo "$1 new"; fi
}

# Puts each item on a line of its own, so that a bad one costs only itself:
#   {"metadata":{...},"spec":{...}},{"metadata":{...  =>  two lines
# The API server writes compact JSON. Within a value, a quote is always \": so no value can contain this border. And no
# object of these kinds has a list of objects that begin with "metadata". Fails unless the end of the list is there:
# on the last line, unless it ends with ]}, sed says so, and "Q 1" ends it with status 1. (It takes the place of the
# shell of the pipeline that calls this.)
split_items() { # NAME
  local border='s/},{"metadata":{/}\n{"metadata":{/g' end='$ s/]}$//'
  local cut='s/.*/the list is cut: its end is missing/w /dev/stderr'
  [[ -s $folder/new/$1 ]] || fail 'the list is cut: its items are missing'
  exec sed -e '$ { /]}$/! {' -e "$cut" -e 'Q 1' -e '} }' -e "$border" -e "$end" -e '/^$/d' "$folder/new/$1"
}
