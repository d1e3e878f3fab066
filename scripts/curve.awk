# Draws the curves of scripts/bench-swarm: largest job (x) against work in total (y), both logarithmic, one colour a system.
# Traces are squares, prefixes are circles joined by a line.
{ n++; name[n] = $1; kind[n] = $2; x[n] = $3; y[n] = $4; if (!($1 in colour)) { systems[++count] = $1; colour[$1] = count } }
function px(v) { return 60 + 400 * (log(v) / log(10) + 3) / 3.2 }
function py(v) { return 300 - 270 * (log(v) / log(10) + 0.2) / 2.7 }
END {
    split("#0072b2 #d55e00 #009e73 #cc79a7", palette, " ")
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"350\" font-family=\"sans-serif\" font-size=\"12\">"
    print "<rect width=\"640\" height=\"350\" fill=\"white\"/>"
    for (d = -3; d <= 0; d++) printf "<line x1=\"%.1f\" y1=\"30\" x2=\"%.1f\" y2=\"300\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"316\" text-anchor=\"middle\">%g</text>\n", px(10 ^ d), px(10 ^ d), px(10 ^ d), 10 ^ d
    for (d = 0; d <= 2; d++) printf "<line x1=\"60\" y1=\"%.1f\" x2=\"480\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"54\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", py(10 ^ d), py(10 ^ d), py(10 ^ d) + 4, 10 ^ d
    print "<text x=\"270\" y=\"338\" text-anchor=\"middle\">largest job / states of the system</text>"
    print "<text x=\"16\" y=\"165\" text-anchor=\"middle\" transform=\"rotate(-90 16 165)\">states of all jobs / states of the system</text>"
    for (s = 1; s <= count; s++) {
        path = ""
        for (i = 1; i <= n; i++) if (name[i] == systems[s]) {
            if (kind[i] == "trace") printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\" fill=\"%s\"/>\n", px(x[i]) - 4.5, py(y[i]) - 4.5, palette[s]
            else { path = path (path == "" ? "M" : "L") sprintf("%.1f %.1f", px(x[i]), py(y[i])); printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", px(x[i]), py(y[i]), palette[s] }
        }
        printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\"/><text x=\"490\" y=\"%d\" fill=\"%s\">%s</text>\n", path, palette[s], 40 + 18 * s, palette[s], systems[s]
    }
    print "<text x=\"490\" y=\"40\">square: trace, circles: prefix</text></svg>"
}
