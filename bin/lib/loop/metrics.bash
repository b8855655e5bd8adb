# metrics - a file that nginx serves on the admin port
#
# live, admin and the numbers are the loop's, histograms are durations.bash's, oldest_nginx is nginx.bash's
# shellcheck shell=bash disable=SC2154

nginx_outdated=0 # prepare_loop finds it out

# In the Prometheus text format. nginx puts in its own numbers (SSI, "echo"). Better without
# numbers than without routes: so a full disk is no error here.
write_metrics() {
  local name
  local -A number=([ingresses]=0 [problems]=0 [quarantined]=0 [leader]=0 [cut_connections]=0 [failed_publications]=0)
  read_numbers "$live/numbers"
  read_numbers "$STATE_DIR/run/leader"
  read_numbers "$STATE_DIR/run/cut"
  {
    head_of histogram step_duration_seconds 'How long the steps of passes took; test and reload are parts of apply.'
    printf '%s' "${histograms[@]}"
    head_of gauge problems_by_reason 'The same problems, by their reason.'
    for name in "${!number[@]}"; do
      [[ $name != [A-Z]* ]] || printf 'bash_ingress_problems_by_reason{reason="%s"} %s\n' "$name" "${number[$name]}"
    done
    metric counter polls_total 'Passes of the loop: reads of all lists.' "$passes"
    metric counter failed_polls_total 'Passes that changed nothing because a step failed.' "$failed_passes"
    metric counter reloads_total 'Configurations that became live.' "$reloads"
    metric counter failed_reloads_total 'Configurations that nginx did not take.' "$failed_reloads"
    metric counter cut_connections_total 'Connections of clients that were cut because too many replaced workers of nginx had some.' "${number[cut_connections]}"
    metric gauge failed_polls_in_a_row 'Passes that failed since the last one that succeeded.' "$failed_in_a_row"
    metric gauge last_good_poll_timestamp_seconds 'Time of the last pass that succeeded.' "$last_good_pass"
    metric gauge ingresses 'Ingresses of our class.' "${number[ingresses]}"
    metric gauge problems 'Parts of Ingresses that are not served as they say.' "${number[problems]}"
    metric gauge quarantined_ingresses 'Ingresses that are not served because nginx rejects them.' "${number[quarantined]}"
    metric gauge leader 'Whether this replica writes the status of the Ingresses, and Events.' "${number[leader]}"
    metric counter failed_publications_total 'Passes of publish that failed.' "${number[failed_publications]}"
    metric gauge nginx_outdated "Whether nginx is older than $oldest_nginx, and may have faults that are known since." "$nginx_outdated"
    metric gauge build_info 'The version of bash-ingress, and of nginx.' 1 "{version=\"$version\",nginx=\"$nginx_version\"}"
    metric gauge config_info 'The live configuration.' 1 "{hash=\"$hash\"}"
    metric gauge nginx_connections_active 'Open client connections.' '<!--# echo var="connections_active" -->'
    metric gauge nginx_connections_reading 'Connections on which a request is read.' '<!--# echo var="connections_reading" -->'
    metric gauge nginx_connections_writing 'Connections on which an answer is written.' '<!--# echo var="connections_writing" -->'
    metric gauge nginx_connections_waiting 'Connections that wait for a request.' '<!--# echo var="connections_waiting" -->'
  } >"$admin/metrics.new" && mv -T "$admin/metrics.new" "$admin/metrics" || true
} 2>/dev/null

# Lines `NAME NUMBER`. (The file may just be written for the first time.)
read_numbers() { # FILE
  local name value
  [[ -s $1 ]] || return 0
  while read -r name value; do number[$name]=$value; done <"$1"
}

metric() { # counter|gauge NAME HELP VALUE [LABELS]
  head_of "$@"
  printf 'bash_ingress_%s%s %s\n' "$2" "${5-}" "$4"
}

head_of() { # counter|gauge|histogram NAME HELP
  printf '# HELP bash_ingress_%s %s\n# TYPE bash_ingress_%s %s\n' "$2" "$3" "$2" "$1"
}
