# secrets - how fetch reads TLS Secrets: only what their certificates are worth is for everybody's eyes
#
# shellcheck shell=bash disable=SC2154 # folder, reads and failed are fetch's

note_wanted_secrets() {
  rm -f "$folder/secrets-are-wanted"
  if grep -q '"secretName":"' "$folder/digest/ingresses"; then : >"$folder/secrets-are-wanted"; fi
}

# They are read only while an Ingress of ours names one, and do not stay.
digest_secrets() {
  if [[ ! -e $folder/secrets-are-wanted && -z $DEFAULT_TLS_SECRET ]]; then
    : >"$folder/digest/secrets"
    return
  fi
  [[ -v reads[secrets] ]] || start_read secrets "$(secrets_path)"
  finish_read secrets
  ((${#failed[@]} == 0)) || die 1 "${failed[@]}"
  split_items "$folder/new/secrets" "$folder/items/secrets"
  "$bin/certificates" "$folder/digest/ingresses" <"$folder/items/secrets" >"$folder/digest/secrets.new" ||
    die 1 'cannot use the TLS Secrets: see above'
  mv -T "$folder/digest/secrets.new" "$folder/digest/secrets"
}

forget_secrets() {
  [[ ! -e $folder/new/secrets ]] || rm -f "$folder"/{new,items}/secrets
}
