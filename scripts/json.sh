# Reads the JSON reports of gridlock; for scripts that source it.
command -v jq >/dev/null || { echo "jq is missing (Debian and Ubuntu: apt-get install jq)" >&2 && exit 2; }

# first FIELD FILE: the first number or text of that name, outer objects first; nothing if there is none
first() { jq -r --arg name "$1" 'first(.. | objects | select(has($name)) | .[$name] | numbers, strings)' "$2"; }
# number FIELD FILE, text FIELD FILE: the same, of that type
number() { jq -r --arg name "$1" 'first(.. | objects | .[$name]? | numbers)' "$2"; }
text() { jq -r --arg name "$1" 'first(.. | objects | .[$name]? | strings)' "$2"; }
