#!/bin/sh
# Learns to tell three kinds of iris apart: softmax regression by gradient descent, in POSIX sh and awk.
#
#     sh train.sh RATE DECAY STEPS [FRACTION]      for example: sh train.sh 0.1 0.001 200
#
# flowers.csv holds the 150 flowers that Anderson measured and Fisher published in 1936, the three kinds in turn. It
# learns from a fraction of the first 99 and prints its loss and accuracy on the other 51. It knows nothing of LeanTune.
set -eu
if [ $# -lt 3 ]; then
    echo "usage: sh train.sh RATE DECAY STEPS [FRACTION]" >&2
    exit 2
fi
export LC_ALL=C # numbers are written with a point

exec awk -F, -v rate="$1" -v decay="$2" -v steps="$3" -v fraction="${4:-1}" '
function probabilities(row,    kind, input, score, sum) { # of each kind of flower, in p[1..3]
    for (kind = 1; kind <= 3; kind++) {
        score = 0
        for (input = 0; input <= 4; input++) score += weight[kind, input] * x[row, input]
        sum += p[kind] = exp(score)
    }
    for (kind = 1; kind <= 3; kind++) p[kind] /= sum
}

function standardize(input,    row, sum, squares, mean, sd) { # by what the flowers to learn from show
    for (row = 1; row <= learned; row++) {
        sum += x[row, input]
        squares += x[row, input] ^ 2
    }
    mean = sum / learned
    sd = sqrt(squares / learned - mean ^ 2)
    for (row = 1; row <= 150; row++) x[row, input] = (x[row, input] - mean) / sd
}

NR > 1 { # the first line names the columns
    x[NR - 1, 0] = 1
    for (input = 1; input <= 4; input++) x[NR - 1, input] = $input
    if (!($5 in number)) number[$5] = ++kinds
    truth[NR - 1] = number[$5]
}

END {
    learned = int(99 * fraction)
    for (input = 1; input <= 4; input++) standardize(input)
    for (step = 1; step <= steps; step++) {
        for (row = 1; row <= learned; row++) {
            probabilities(row)
            for (kind = 1; kind <= 3; kind++)
                for (input = 0; input <= 4; input++)
                    gradient[kind, input] += (p[kind] - (kind == truth[row])) * x[row, input] / learned
        }
        for (each in gradient) {
            weight[each] -= rate * (gradient[each] + decay * weight[each])
            gradient[each] = 0
        }
    }
    for (row = 100; row <= 150; row++) {
        probabilities(row)
        loss -= log(p[truth[row]]) / 51
        best = p[1] > p[2] ? 1 : 2
        if (p[3] > p[best]) best = 3
        right += best == truth[row]
    }
    printf "loss=%.4f accuracy=%.4f\n", loss, right / 51
}' "$(dirname "$0")/flowers.csv"
