# The last part of scripts/scale: reads what was counted and measured, prints what ranks send, and computes larger searches.
# docs/scale.md has the formulas in words; each is a function here.

# Of `mean` things for each of n ranks, placed at random: about how many the rank with most has.
function most(mean, n) { return mean + sqrt(2 * mean * log(n)) + log(n) / 3 }

# Messages of a level: one for each pair of ranks that has anything to send, and more where that is more than 64 KiB.
function messages(sent, words, n) {
    if (n < 2) return 0
    return n * (n - 1) * (1 - exp(-sent / (n * (n - 1)))) + sent * words / 8192
}

function stem(name) { sub(/[-:].*/, "", name); return name }

function log2(x) { return log(x) / log(2) }

# Seconds of one level of f states on n ranks with t threads each, of which a node has `per`. Sets what bounds it.
function level(f, n, t, per,    states, sent, count, search, post, wire, agree) {
    states = most(f / n, n)
    sent = steps * (1 - 1 / n) * passed * states
    count = messages(sent * n, words, n) / n
    # One thread posts messages, and all look up what comes.
    post = count * step
    search = (states * state_cost + sent * sent_cost) / keep / t + post / t
    spent["imbalance"] += search * (1 - f / n / states)
    wire = per * (sent * words * 8 + count * 80) / (network * 1e9)
    # A reduce-scatter of 16 bytes and an all-gather of 152 for each rank.
    agree = 2 * log2(n + 1) * step + n * 168 * per / (network * 1e9)
    spent["search"] += search * f / n / states
    if (wire > search) spent["network"] += wire - search
    spent["collectives"] += agree
    return (wire > search ? wire : search) + agree
}

# Seconds of a search of s states in `levels` levels, which grow and shrink as a bell does.
function whole(s, levels, n, t, per,    k, x, sum, time, f) {
    delete spent
    for (k = 0; k < levels; k++) { x = (k - levels / 2) / (levels / 8); sum += exp(-x * x / 2) }
    for (k = 0; k < levels; k++) {
        x = (k - levels / 2) / (levels / 8)
        f = s * exp(-x * x / 2) / sum
        time += level(f < 1 ? 1 : f, n, t, per)
    }
    return time
}

function duration(s) {
    if (s < 120) return sprintf("%.0f s", s)
    if (s < 7200) return sprintf("%.0f min", s / 60)
    if (s < 172800) return sprintf("%.1f h", s / 3600)
    return sprintf("%.1f days", s / 86400)
}

function row(total_cores, per, levels,    n, t, time, ideal, bytes) {
    n = total_cores / cores * per
    t = cores / per
    time = whole(1e12, levels, n, t, per)
    ideal = 1e12 * state_cost / total_cores
    printf "| %s | %d | %d x %d | %d | %s | %.0f | %.0f / %.0f / %.0f / %.0f |\n", like, total_cores, n, t, levels, duration(time),
        ideal / time * total_cores, 100 * spent["search"] / time, 100 * spent["imbalance"] / time,
        100 * spent["network"] / time, 100 * spent["collectives"] / time
}

$2 == "level" { predicted[$1, $3] += messages($5, 1, $3) }
$2 == "run" {
    if (!($1 in seen)) { seen[$1] = 1; models[++many] = $1 }
    runs[$1] = runs[$1] " " $3
    r = $1 SUBSEP $3
    states[r] = $4; transitions[r] = $5; depth[r] = $6; wide[r] = $7; sent[r] = $8
    msgs[r] = $9; bytes[r] = $10; most_messages[r] = $11; most_states[r] = $13
    # What is sent with most ranks goes for the family of the model, whatever its size.
    if ($3 > 1) { family = stem($1); rate[family] = $8 / ($5 * (1 - 1 / $3)); if ($3 > widest) widest = $3 }
}
$1 == "cost" {
    one = $6 - $7; two = $8 - $9
    costs[++measured] = $0
    per_state[measured] = one / $3
    per_sent[measured] = (two - one) / $5
}
$1 == "thin" { thin = $3 / $2 }

END {
    print "What owners send, counted\n"
    print "| model | ranks | states | sent, % of steps | messages of a rank | formula | bytes of a rank | most states / mean | formula |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (m = 1; m <= many; m++) {
        count = split(runs[models[m]], list, " ")
        for (k = 1; k <= count; k++) {
            n = list[k]; r = models[m] SUBSEP n
            printf "| %s | %d | %d | %.1f | %.0f | %.0f | %.0f | %.2f | %.2f |\n", models[m], n, states[r], 100 * sent[r] / transitions[r],
                msgs[r] / n, predicted[models[m], n] / n, bytes[r] / n, most_states[r] * n / states[r], most(states[r] / n, n) * n / states[r]
        }
    }
    print "\nConstants, measured\n"
    print "| model | states | ns a state, one thread | ns more for a state sent |"
    print "|---|---|---|---|"
    for (m = 1; m <= measured; m++) {
        split(costs[m], field, " ")
        printf "| %s | %d | %.0f | %.0f |\n", field[2], field[3], 1e9 * per_state[m], 1e9 * per_sent[m]
    }
    # A level of one state is a message and two collectives, of one hop each.
    step = thin / 3 + hop / 1e6
    printf "\nA level of one state at two ranks: %.0f us.\n", 1e6 * thin
    printf "\n10^12 states of %d words; nodes of %d cores that keep %.2f of their rate, %g GB/s a node\n\n", words, cores, keep, network
    print "| like | cores | ranks x threads | levels | time | speedup over one thread | search / imbalance / network / collectives, % |"
    print "|---|---|---|---|---|---|---|"
    split("1024 10240", sizes, " ")
    for (m = 1; m <= measured; m++) {
        split(costs[m], field, " ")
        like = field[2]
        state_cost = per_state[m]; sent_cost = per_sent[m]; steps = field[4] / field[3]
        passed = (stem(like) in rate) ? rate[stem(like)] : 1
        for (c = 1; c <= 2; c++) {
            row(sizes[c], 1, 200)
            row(sizes[c], 1, 20000)
            row(sizes[c], 8, 200)
            row(sizes[c], cores, 200)
        }
    }
    printf "\nMemory: 10^12 states at a load of 0.7, and 1.15 times the mean, are %.1f GB a core on 1,024 cores, %.1f on 10,240.\n",
        1e12 * words * 8 / 0.7 * 1.15 / 1024 / 1e9, 1e12 * words * 8 / 0.7 * 1.15 / 10240 / 1e9
}
