import type { WriteStream } from 'node:tty';

// Progress of the jobs. On a terminal: one bar per job, redrawn in place. Elsewhere: one line per phase.

interface Shown {
  readonly progress: number;
  /** The job's status or phase. */
  readonly doing: string;
}

export interface ProgressBars {
  show(name: string, shown: Shown): void;
  /** Prints a line above the bars. */
  say(line: string): void;
}

const barWidth = 28;

function bar(progress: number): string {
  const full = Math.round((barWidth * Math.min(100, Math.max(0, progress))) / 100);
  return '█'.repeat(full) + '░'.repeat(barWidth - full);
}

/** @param names in the order in which they are shown */
export function createProgressBars(names: readonly string[], output: WriteStream | NodeJS.WriteStream): ProgressBars {
  return output.isTTY ? terminalBars(names, output) : plainLines(output);
}

function terminalBars(names: readonly string[], output: NodeJS.WriteStream): ProgressBars {
  const shown = new Map<string, Shown>();
  const widest = Math.max(...names.map((name) => name.length));
  let isDrawn = false;
  const draw = () => {
    const lines = names.map((name) => {
      const { progress, doing } = shown.get(name) ?? { progress: 0, doing: 'waiting' };
      const line = `${name.padEnd(widest)}  ${bar(progress)} ${String(progress).padStart(3)} %  ${doing}`;
      // A wrapped line would be overwritten only in part.
      return `\u001B[2K${line.slice(0, Math.max(20, (output.columns || 80) - 1))}\n`;
    });
    output.write((isDrawn ? `\u001B[${names.length}A` : '') + lines.join(''));
    isDrawn = true;
  };
  return {
    show(name, next) {
      shown.set(name, next);
      draw();
    },
    say(line) {
      if (isDrawn) output.write(`\u001B[${names.length}A\u001B[J`);
      output.write(`${line}\n`);
      const wasDrawn = isDrawn;
      isDrawn = false;
      if (wasDrawn) draw();
    },
  };
}

function plainLines(output: NodeJS.WriteStream): ProgressBars {
  const last = new Map<string, string>();
  return {
    show(name, { progress, doing }) {
      const step = doing;
      if (last.get(name) === step) return;
      last.set(name, step);
      output.write(`${name}: ${progress} % ${doing}\n`);
    },
    say: (line) => void output.write(`${line}\n`),
  };
}
