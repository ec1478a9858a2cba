import { cueTime } from './cue-time.ts';

/*
 * WebVTT as ffmpeg writes it from other subtitles. It copies their text, so that what WebVTT reads as a tag, a time or
 * the end of a cue would hide words.
 */

const timing = /^((?:\d+:)?\d\d:\d\d\.\d{3}) --> ((?:\d+:)?\d\d:\d\d\.\d{3})/;
/** The longest that a cue is shown whose end is not known. */
const unknownEndSecMax = 4;
/** Signs that ASS draws by lines and curves. */
const drawing = /^m(?: -?[\d.]+){2}(?: [mnlbspc](?: -?[\d.]+)*)+$/;

/**
 * Text that shows as it stands, without drawings and empty lines; tags are bold, italics and underline alone. A cue
 * without length, which no player shows, lasts until the next one.
 */
export function tidyCues(webvtt: string): string {
  const [head = [], ...cues] = blocksOf(webvtt.split('\n'));
  const begins = cues.map(([times = '']) => spanOf(times).beginSec).toSorted((a, b) => a - b);
  const shown = cues.flatMap(([times = '', ...lines]) => {
    const text = lines.map(tidyLine).filter((line) => line !== '' && !drawing.test(line));
    return text.length === 0 ? [] : [`${[withLength(times, begins), ...text].join('\n')}\n`];
  });
  return [`${head.join('\n').trimEnd()}\n`, ...shown].join('\n');
}

/**
 * The cues of `more`, of which those of a time that `sure` has whole are taken from there: the same subtitles, read as
 * two encodings of text.
 */
export function mergedCues(sure: string, more: string): string {
  const [, ...sureCues] = blocksOf(sure.split('\n'));
  const [head = [], ...cues] = blocksOf(more.split('\n'));
  const byTime = Map.groupBy(sureCues, ([times = '']) => times);
  const counts = Map.groupBy(cues, ([times = '']) => times);
  const merged = cues.map((cue) => {
    const [times = ''] = cue;
    const known = byTime.get(times) ?? [];
    const all = counts.get(times) ?? [];
    return known.length === all.length ? (known[all.indexOf(cue)] ?? cue) : cue;
  });
  return [head, ...merged].map((block) => block.join('\n')).join('\n');
}

/** The lines before the first cue, and of each cue. */
function blocksOf(lines: readonly string[]): string[][] {
  const blocks: string[][] = [[]];
  for (const [index, line] of lines.entries()) {
    if (timing.test(line) && lines[index - 1] === '') blocks.push([]);
    blocks.at(-1)?.push(line);
  }
  return blocks;
}

/** `\h` is a space of ASS and of captions. */
function tidyLine(line: string): string {
  const spaced = line.replaceAll(/(?:\\h)+/g, ' ').trim();
  return spaced.replaceAll(/<(?!\/?[ibu]>)/g, '&lt;').replaceAll('-->', '--&gt;');
}

/** The times of a cue, whose end is after its begin; `begins`: those of all cues, in order. */
function withLength(times: string, begins: readonly number[]): string {
  const { beginSec, endSec } = spanOf(times);
  if (endSec > beginSec) return times;
  const nextSec = begins.find((sec) => sec > beginSec) ?? beginSec + unknownEndSecMax;
  const untilSec = Math.min(nextSec, beginSec + unknownEndSecMax);
  return times.replace(timing, `$1 --> ${cueTime(untilSec)}`);
}

function spanOf(times: string): { readonly beginSec: number; readonly endSec: number } {
  const [, begin = '', end = ''] = timing.exec(times) ?? [];
  return { beginSec: secondsOf(begin), endSec: secondsOf(end) };
}

/** Of `mm:ss.mmm` with or without hours. */
function secondsOf(time: string): number {
  return time.split(':').reduce((sec, part) => sec * 60 + Number(part), 0);
}
