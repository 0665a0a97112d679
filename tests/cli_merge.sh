#!/bin/sh
# Results of several contributors: merge, as a command and as git's driver.
# shellcheck disable=SC2016,SC2154 # ${} is the templates'; variables come from support/cli.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/support/cli.sh"

before='#pragma fake time_ns=${WG}' more='"fallback": true,' && template t.cl
for n in 100 200 300; do
    works "measured $n" tune saxpy --template t.cl --dims "N=$n" --no-probe --store "$n.db"
    works "exported $n" results export --store "$n.db" -o "$n.jsonl"
done

# ---- the command ----
works 'merge' results merge 100.jsonl 200.jsonl 300.jsonl -o all.jsonl
check 'it says what it did' has "$errors" 'of 3 files'
works 'another order' results merge 300.jsonl all.jsonl 100.jsonl 200.jsonl
check 'the same bytes' same "$output" "$(cat all.jsonl)"
sort -r all.jsonl | sed '/kernwright/d' >reversed
{ head -1 all.jsonl && cat reversed; } >reversed.jsonl
works 'no order' results merge reversed.jsonl -o sorted.jsonl
check 'the same bytes again' cmp -s all.jsonl sorted.jsonl
check 'it says that it had to sort' has "$errors" '1 of the files were not in order'
works 'no order, to standard output' results merge reversed.jsonl 100.jsonl
check 'the same bytes there' same "$output" "$(cat all.jsonl)"
gzip -k 100.jsonl
output=$("$kw" results merge - 100.jsonl.gz 300.jsonl <200.jsonl 2>errors)
check 'from a pipe, and compressed' same "$output" "$(cat all.jsonl)"
works 'emit from the union' emit saxpy --from all.jsonl -o all.h
check 'all shapes are in it' has "$(cat all.h)" '3 shapes'
refuses 'a base that is not there' 2 'none.jsonl' results merge 100.jsonl 200.jsonl --base none.jsonl -o x.jsonl
refuses 'a base elsewhere' 2 '--base belongs to merge' results export --base 100.jsonl --store 100.db
head -c "$(($(wc -c <all.jsonl) - 9))" all.jsonl >cut.jsonl
refuses 'one that was cut off' 2 "cut.jsonl:$(wc -l <all.jsonl): not a line of results" results merge 100.jsonl cut.jsonl -o x.jsonl
check 'it says what to do' has "$errors" 'take a whole copy'
refuses 'nothing to merge' 2 'at least one' results merge
check 'no output' [ ! -e x.jsonl ]
# A line that one of them took out.
grep -v '"N":100}' all.jsonl >less.jsonl
works 'three ways' results merge less.jsonl all.jsonl --base all.jsonl -o three.jsonl
check 'stays away' cmp -s less.jsonl three.jsonl
works 'two ways' results merge less.jsonl all.jsonl -o two.jsonl
check 'comes back' cmp -s all.jsonl two.jsonl

# ---- whom to believe ----
KERNWRIGHT_CONTRIBUTOR=ada works 'a contributor' tune saxpy --template t.cl --dims N=100 --no-probe --store ada.db
works 'is named' results export --store ada.db -o ada.jsonl
check 'in each line' [ "$(grep -c '"contributor":"ada"}}' ada.jsonl)" -eq "$(grep -c '"measurement"' ada.jsonl)" ]
check 'in none of others' [ "$(grep -c '"contributor"' 100.jsonl)" -eq 0 ]
sed 's/"contributor":"ada"/"contributor":"bob"/' ada.jsonl >bob.jsonl
sed 's/"contributor":"ada"/"contributor":"cleo"/; s/_ns":\([0-9]\)/_ns":9\1/g' ada.jsonl >cleo.jsonl # 90 times as long
works 'three of them' results merge ada.jsonl bob.jsonl cleo.jsonl -o three.jsonl
works 'who is not believed' results show --rejected --from three.jsonl --json
check 'is listed' has "$output" '"reason":"outlier","contributor":"cleo"'
check 'and nobody else' [ "$(printf '%s\n' "$output" | grep -cv cleo)" -eq 0 ]
works 'a table' results show --rejected --from three.jsonl
check 'says why' has "$output" 'outlier'
check 'and how many' has "$errors" 'not believed'
works 'a header without them' emit saxpy --from three.jsonl -o three.h
check 'says so' has "$errors" 'are not believed and left out'
works 'a header of two' results merge ada.jsonl bob.jsonl -o two.jsonl
works 'is the same' emit saxpy --from two.jsonl -o two.h
check 'to the byte' cmp -s two.h three.h
printf '{"contributor":"cleo","weight":9}\n' >trust.jsonl
works 'weights' emit saxpy --from three.jsonl -o cleo.h --trust trust.jsonl
works 'turn it round' results show --rejected --from three.jsonl --trust trust.jsonl --json
check 'ada and bob' [ "$(printf '%s\n' "$output" | grep -c cleo)" -eq 0 ]
works 'into a store' results import three.jsonl --store three.db
works 'winners of those that are believed' results export --store three.db --trust trust.jsonl
check 'cleo alone' [ "$(printf '%s\n' "$output" | grep -c '"contributor":"[ab]')" -eq 0 ]
for name in ada bob cleo; do printf '{"contributor":"%s","weight":0}\n' "$name"; done >nobody.jsonl
refuses 'nobody is believed' 1 'no measurement of saxpy is believed' emit saxpy --from three.jsonl -o x.h --trust nobody.jsonl
refuses 'no such weights' 2 'none.jsonl' emit saxpy --from three.jsonl -o x.h --trust none.jsonl
printf '{"contributor":"cleo","weight":"much"}\n' >bad.jsonl
refuses 'bad weights' 2 'bad.jsonl:1' emit saxpy --from three.jsonl -o x.h --trust bad.jsonl
refuses 'a file elsewhere' 2 '--from belongs to show --rejected' results show --from three.jsonl
refuses 'weights elsewhere' 2 '--trust belongs to show --rejected' results show --trust trust.jsonl --store ada.db
refuses 'a task of a merge' 2 '--task belongs to show and export, not to merge' results merge ada.jsonl --task saxpy -o x.h
refuses 'weights of a merge' 2 '--trust belongs to' results merge ada.jsonl --trust trust.jsonl -o x.h
refuses 'a table of an export' 2 '--json belongs to show, not to export' results export --json --store ada.db
refuses 'an output of an import' 2 '-o belongs to export and merge' results import ada.jsonl -o x.h --store ada.db
refuses 'two views' 2 'give one of' results show --rejected --failed --store three.db
check 'no header' [ ! -e x.h ]

# ---- git ----
if ! command -v git >/dev/null; then
    skip 'merging branches' 'git is not installed'
    finish cli_merge
fi
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME="$work"
git() {
    command git -C "$work/repository" -c user.name=Tester -c user.email=tester@localhost "$@" >git.out 2>&1
}
command git init -q "$work/repository"
git checkout -b main
git config merge.kernwright.name 'union of results'
git config merge.kernwright.driver "'$kw' results merge %A %B --base %O -o %A"
echo 'results.jsonl merge=kernwright' >repository/.gitattributes
cp 100.jsonl repository/results.jsonl
git add -A && git commit -m 'the first shape'
for n in 200 300; do
    git checkout -b "from-$n" main
    "$kw" results merge 100.jsonl "$n.jsonl" -o repository/results.jsonl 2>/dev/null
    check "contributor $n commits" git commit -am "measured $n"
done
git checkout main
check 'the first branch' git merge --no-edit from-200
check 'the second branch, from the same past' git merge --no-edit from-300
check 'no conflict, all lines, in order' cmp -s repository/results.jsonl all.jsonl
# Both add a file of the same name: there is no base.
for n in 100 200; do
    git checkout -b "new-$n" main
    mkdir -p repository/more
    cp "$n.jsonl" repository/more/results.jsonl
    git add -A && git commit -m "more $n"
done
check 'a file that both added' git merge --no-edit new-100
works 'their union' results merge 100.jsonl 200.jsonl -o both.jsonl
check 'is what git made' cmp -s repository/more/results.jsonl both.jsonl
# One takes out what the other leaves alone.
git checkout -b removes main
"$kw" results merge 200.jsonl 300.jsonl -o repository/results.jsonl 2>/dev/null
git commit -am 'the first shape again later'
git checkout -b adds main
{ cat all.jsonl && sed -n 's/"host":"[^"]*"/"host":"another"/p' 300.jsonl; } >repository/results.jsonl
git commit -am 'another host'
check 'removal and addition' git merge --no-edit removes
check 'what was removed is gone' [ "$(grep -c '"N":100}' repository/results.jsonl)" -eq 0 ]
check 'what was added is there' grep -q '"host":"another"' repository/results.jsonl
# A damaged version: the merge fails with a message, and nothing is lost.
git checkout -b damaged main
echo '{"measurement":{"task' >>repository/results.jsonl
git commit -am 'cut off'
git checkout -b fine main
"$kw" results merge all.jsonl repository/results.jsonl -o repository/results.jsonl 2>/dev/null
sed -n 's/"host":"[^"]*"/"host":"third"/p' 300.jsonl >>repository/results.jsonl
git commit -am 'third host'
git merge --no-edit damaged && bad 'a damaged file was merged'
check 'git has the message' grep -q 'not a line of results' git.out
check 'ours is as it was' grep -q '"host":"third"' repository/results.jsonl
finish cli_merge
