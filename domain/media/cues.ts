/*
 * WebVTT as ffmpeg writes it from other subtitles. It copies their text, so that what WebVTT reads as a tag, a time or
 * the end of a cue would hide words.
 */

const timing = /^(?:\d+:)?\d\d:\d\d\.\d{3} --> (?:\d+:)?\d\d:\d\d\.\d{3}/;
/** Signs that ASS draws by lines and curves. */
const drawing = /^m(?: -?[\d.]+){2}(?: [mnlbspc](?: -?[\d.]+)*)+$/;

/** Text that shows as it stands, without drawings and empty lines; tags are bold, italics and underline alone. */
export function tidyCues(webvtt: string): string {
  const [head = [], ...cues] = blocksOf(webvtt.split('\n'));
  const shown = cues.flatMap(([times = '', ...lines]) => {
    const text = lines.map(tidyLine).filter((line) => line !== '' && !drawing.test(line));
    return text.length === 0 ? [] : [`${[times, ...text].join('\n')}\n`];
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
