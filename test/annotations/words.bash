# The words of the annotations' tests. They run in two tiers: all in unit, with nginx of this machine and a snapshot; and
# those with the tag "cluster" in e2e (TIER=e2e), with the real image in a real cluster. There all work, too, and take
# some nine minutes. Each tier has its own meaning of `serve`.
#
# In both there are Services red, blue and auth in namespace e2e, and red in namespace other: port 80 is for HTTP, 443
# for TLS. Services many, kept and headless have the pods of the first three; the port of kept and headless is 8080. kept
# sends each client to one pod, headless has no address. The pods repeat what they were asked (test/go/backend).
#
#   ingress red-one one.example /app red rewrite-target=/    an Ingress in e2e; PATH can be TYPE:PATH, SERVICE can be
#                                                            NAME:PORT; NAMESPACE/NAME puts it into another namespace
#   secret users Opaque auth=alice:...                       a Secret in e2e
#   configmap headers X-Frame-Options=DENY                   a ConfigMap in e2e
#   serve                                                    makes them live; what is left of the test before is gone
#   ask one.example /app [CURL_OPTION...]                    what a client gets; ask_tls: over HTTPS
#   status, statuses, header, pod_gets, who_answers, who_answers_paths, cluster_address, problems          below

load "../${TIER:-unit}/helpers"
load "${TIER:-unit}"

setup_file() { start_words; }
setup() { begin_test; }
teardown() { end_test; }
teardown_file() { end_words; }

# An Ingress of class bash. The annotations are ingress-nginx's, or begin with a prefix of their own.
ingress() { # [NAMESPACE/]NAME HOST [TYPE:]PATH SERVICE[:PORT] [ANNOTATION=VALUE...]
  local name=$1 host=$2 path=$3 service=$4 type=Prefix
  [[ $name == */* ]] || name=e2e/$name
  [[ $path == /* ]] || { type=${path%%:*} path=${path#*:}; }
  [[ $service == *:* ]] || service+=:80
  local annotation key json file annotations='' rule tls=''
  for annotation in "${@:5}"; do
    key=${annotation%%=*}
    if [[ $key != */* ]]; then key=nginx.ingress.kubernetes.io/$key; fi
    set_json "${annotation#*=}"
    annotations+=${annotations:+,}"\"$key\":$json"
  done
  set_json "$path"
  printf -v rule '"http":{"paths":[{"path":%s,"pathType":"%s","backend":{"service":{"name":"%s","port":{"number":%s}}}}]}' "$json" "$type" "${service%:*}" "${service#*:}"
  set_json "$host"
  [[ -z $host ]] || rule+=",\"host\":$json"
  [[ -z ${TLS-} ]] || tls=",\"tls\":[{\"hosts\":[$json],\"secretName\":\"$TLS\"}]"
  next_file "$name"
  printf '{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"namespace":"%s","name":"%s","annotations":{%s}},"spec":{"ingressClassName":"bash","rules":[{%s}]%s}}\n' \
    "${name%/*}" "${name#*/}" "$annotations" "$rule" "$tls" >"$file"
}

# Sets file: where the next object is written. It is younger than those before.
next_file() { # [KIND-]NAMESPACE/NAME
  objects=$((objects + 1))
  [[ -d $BATS_TEST_TMPDIR/objects ]] || mkdir "$BATS_TEST_TMPDIR/objects"
  printf -v file '%s/objects/%03d-%s.json' "$BATS_TEST_TMPDIR" "$objects" "${1/\//-}"
}

# Sets json to TEXT as a string of JSON. The tests make hundreds of Ingresses: so this takes no process, but for bytes that are not
# printable ASCII.
set_json() { # TEXT
  json=${1//\\/\\\\}
  json=\"${json//\"/\\\"}\"
  [[ $1 != *[!\ -~]* ]] || json=$(jq -n --arg text "$1" '$text')
}

# KEY=@FILE takes the value from a file.
secret() { # [NAMESPACE/]NAME TYPE KEY=VALUE...
  local name=$1 type=$2 entry file data=()
  [[ $name == */* ]] || name=e2e/$name
  for entry in "${@:3}"; do
    if [[ $entry == *=@* ]]; then data+=("${entry%%=*}=$(<"${entry#*=@}")"); else data+=("$entry"); fi
  done
  next_file "secret-$name"
  jq -n --arg name "$name" --arg type "$type" '{apiVersion: "v1", kind: "Secret", $type,
    metadata: {namespace: ($name | split("/")[0]), name: ($name | split("/")[1])},
    data: ([$ARGS.positional[] | index("=") as $at | {(.[:$at]): (.[$at + 1:] | @base64)}] | add // {})}' --args "${data[@]}" >"$file"
}

configmap() { # [NAMESPACE/]NAME KEY=VALUE...
  local name=$1 file
  [[ $name == */* ]] || name=e2e/$name
  next_file "configmap-$name"
  jq -n --arg name "$name" '{apiVersion: "v1", kind: "ConfigMap", metadata: {namespace: ($name | split("/")[0]), name: ($name | split("/")[1])},
    data: ([$ARGS.positional[] | index("=") as $at | {(.[:$at]): .[$at + 1:]}] | add // {})}' --args "${@:2}" >"$file"
}

# Forgets an object, so that the next `serve` is without it.
without() { # [NAMESPACE/]NAME
  local name=$1
  [[ $name == */* ]] || name=e2e/$name
  rm -f "$BATS_TEST_TMPDIR/objects/"???-{,secret-,configmap-}"${name/\//-}.json"
}

status() { # HOST PATH [CURL_OPTION...]
  ask "$@" -o /dev/null -w '%{http_code}\n'
}

status_tls() { # HOST PATH [CURL_OPTION...]
  ask_tls "$@" -o /dev/null -w '%{http_code}\n'
}

# Prints the status of each, with spaces between. One curl asks them all, one after the other.
statuses() { # HOST/PATH...   and perhaps, after --, CURL_OPTION...
  statuses_of http "$(http_address)" "$@"
}

statuses_tls() { # HOST/PATH...   the same over HTTPS
  statuses_of https "$(https_address)" "$@"
}

statuses_of() { # http|https ADDRESS HOST/PATH... [-- CURL_OPTION...]
  local scheme=$1 address=$2 urls=() codes
  shift 2
  while (($# > 0)) && [[ $1 != -- ]]; do urls+=(-o /dev/null "$scheme://$1") && shift; done
  codes=$(curl -sk --path-as-is --max-time 10 --connect-to "::$address" -w '%{http_code} ' "${@:2}" "${urls[@]}")
  echo "${codes% }"
}

# For wait_for, where something takes its time: a Secret that is gone, say.
statuses_are() { # EXPECTED HOST/PATH...   and perhaps, after --, CURL_OPTION...
  [[ $(statuses "${@:2}") == "$1" ]]
}

# Prints the values of a header of the answer, a line for each.
header() { # NAME HOST PATH [CURL_OPTION...]
  ask "${@:2}" -o /dev/null -D - | tr -d '\r' | sed -n "s/^$1: //Ip"
}

# Prints what the pod was asked: .method, .host, .uri, .header.NAME[0], .body.
pod_gets() { # FILTER HOST PATH [CURL_OPTION...]
  ask "${@:2}" | jq -r "$1"
}

objects=0
