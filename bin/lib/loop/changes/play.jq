# The page with changes in it, so that it needs no server. No "<" of a change can end the page's script.
#
# input:  what the page shows of some changes, the oldest first (page.jq)
# args:   $page: the text of templates/page.html
# output: the same with these changes

[inputs]
| (map({("\(.number).json"): .}) | add) + {"changes.json": map({number})}
| (tojson | gsub("<"; "\\u003c")) as $recorded
| $page
| split("recorded = null;")
| "\(.[0])recorded = \($recorded);\(.[1])"
