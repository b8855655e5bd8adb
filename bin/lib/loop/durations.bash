# durations - how long the steps take: of the last pass, and as histograms for /metrics
#
# next is the loop's
# shellcheck shell=bash disable=SC2154,SC2034

durations=$next/durations                    # where step and `took` write: lines NAME MICROSECONDS
declare -A observed=() sums=() histograms=() # "NAME BUCKET": how many; NAME: microseconds in all, lines for /metrics
took_lines=''                                # of the last pass that ran a step
bounds=(5000 10000 25000 50000 100000 250000 500000 1000000 2500000 5000000 10000000 Inf)
as_seconds=(0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf)

note_durations() {
  local name microseconds
  { IFS= read -r -d '' took_lines <"$durations"; } 2>/dev/null || true # it ends with the file
  : >"$durations" || return 0                                          # the disk is full
  while read -r name microseconds; do
    [[ -z $microseconds ]] || observe "$name" "$microseconds"
  done <<<"$took_lines"
}

observe() { # NAME MICROSECONDS
  local i=0 count=0 lines='' sum
  while ((i < ${#bounds[@]} - 1 && $2 > bounds[i])); do i=$((i + 1)); done
  observed["$1 $i"]=$((${observed["$1 $i"]-0} + 1))
  sums[$1]=$((${sums[$1]-0} + $2))
  for i in "${!as_seconds[@]}"; do
    count=$((count + ${observed["$1 $i"]-0}))
    lines+="bash_ingress_step_duration_seconds_bucket{step=\"$1\",le=\"${as_seconds[i]}\"} $count"$'\n'
  done
  printf -v sum '%d.%06d' "$((sums[$1] / 1000000))" "$((sums[$1] % 1000000))"
  lines+="bash_ingress_step_duration_seconds_sum{step=\"$1\"} $sum"$'\n'
  histograms[$1]="${lines}bash_ingress_step_duration_seconds_count{step=\"$1\"} $count"$'\n'
}
