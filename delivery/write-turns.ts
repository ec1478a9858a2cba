// Writing segments is most of what delivery does on the event loop: the kernel copies half a megabyte in a tenth of a
// millisecond or more, and hundreds of clients may be ready at once. So the writes of one turn of the loop are bounded
// by their time; the rest waits for the next turns, in order, while requests, timers and reads take theirs.

const turnMs = 4;

let spentMs = 0;
let isTurnEnding = false;
const waiting: (() => void)[] = [];

/** Runs `write` in this turn of the event loop while there is time, else in a later one. */
export function writeInTurn(write: () => void): void {
  if (waiting.length > 0 || spentMs >= turnMs) waiting.push(write);
  else spend(write);
  endTurn();
}

function spend(write: () => void): void {
  const beganMs = performance.now();
  write();
  spentMs += performance.now() - beganMs;
}

function endTurn(): void {
  if (isTurnEnding) return;
  isTurnEnding = true;
  setImmediate(() => {
    isTurnEnding = false;
    spentMs = 0;
    for (let next = waiting.shift(); next !== undefined; next = spentMs < turnMs ? waiting.shift() : undefined)
      spend(next);
    if (spentMs > 0) endTurn();
  });
}
