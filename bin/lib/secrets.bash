# secrets - how fetch reads TLS Secrets: only what their certificates are worth is for everybody's eyes
#
# shellcheck shell=bash disable=SC2154 # folder, reads and failed are fetch's

# The file is empty if no Ingress of ours names one.
note_wanted_secrets() {
  grep -m 1 -o '"secretName":"' "$folder/digest/ingresses" >"$folder/wanted-secrets" ||
    (($? == 1)) # which means that there is none
}

# They are read only while an Ingress of ours names one, and do not stay.
digest_secrets() {
  if [[ ! -s $folder/wanted-secrets && -z $DEFAULT_TLS_SECRET ]]; then
    : >"$folder/digest/secrets"
    return
  fi
  if [[ ! -e $folder/new/secrets ]]; then # an Ingress has just been the first to name one
    start_read secrets "$(secrets_path)"
    finish_reads
  fi
  split_items secrets | "$bin/certificates" "$folder/digest/ingresses" >"$folder/digested/secrets" ||
    die 1 'cannot use the TLS Secrets: see above'
  mv -t "$folder/digest" "$folder/digested/secrets"
}

forget_secrets() {
  [[ ! -e $folder/new/secrets ]] || rm -f "$folder/new/secrets"
}
