# The names and passwords in the headers of questions, as lines of a file of passwords (auth_basic_user_file).
#
# input: a question / output: a line for each
.headers[]
| capture("\\A(?i:authorization: *basic +)(?<login>[A-Za-z0-9+/=]+)\\z").login
| try @base64d catch empty
| capture("\\A(?<user>[^:\n]+):(?<password>[^\n]*)\\z")
| "\(.user):{PLAIN}\(.password)"
