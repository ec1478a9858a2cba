import { expect, it } from 'vitest';
import { mergedCues, tidyCues } from './cues.ts';

const cue = (second: number, text: string) => `00:0${second}.000 --> 00:0${second + 1}.000\n${text}\n`;
const document = (...texts: readonly string[]) =>
  ['WEBVTT\n', ...texts.map((text, index) => cue(index, text))].join('\n');

it.each([
  ['less-than signs that begin no tag are shown', 'I <3 you, a < b <u>', 'I &lt;3 you, a &lt; b <u>'],
  ['tags of styles stay', '<i>it</i> <b>bold</b>', '<i>it</i> <b>bold</b>'],
  ['an arrow does not end a cue', 'x --> y', 'x --&gt; y'],
  ['fixed spaces are spaces', String.raw`one\h\htwo\h`, 'one two'],
  ['an empty line does not end a cue', 'one\n\ntwo', 'one\ntwo'],
  ['a drawing beside text is left out', 'm 0 0 l 100 0 100 -1.5\nSign', 'Sign'],
  ['text that begins as a drawing is shown', 'm 1 2 l of milk', 'm 1 2 l of milk'],
  ['text that ends as a drawing is shown', 'from m 1 2 l 3 4', 'from m 1 2 l 3 4'],
  ['times without an empty line above are text', 'at\n00:05.000 --> 00:06.000', 'at\n00:05.000 --&gt; 00:06.000'],
  ['times within a line are text', 'a\n\nat 00:05.000 --> 00:06.000', 'a\nat 00:05.000 --&gt; 00:06.000'],
])('%s', (_, text, shown) => {
  expect(tidyCues(document(text, 'next'))).toBe(document(shown, 'next'));
});

it('a cue may begin after hours, and the lines before the first cue stay', () => {
  const written =
    'WEBVTT\nKind: captions\n\n09:59:59.000 --> 10:00:01.000\nlate\n\n100:00:00.000 --> 100:00:02.000\nx < y\n';
  expect(tidyCues(written)).toBe(written.replace('<', '&lt;'));
});

it('cues without text are left out, whether they draw or are empty', () => {
  const written = `WEBVTT\n\n${cue(0, 'm 0 0 l 100 0 b 1 2 3 4 5 6')}\n${cue(1, String.raw`\h`)}\n${cue(2, 'text')}`;
  expect(tidyCues(written)).toBe(`WEBVTT\n\n${cue(2, 'text')}`);
  expect(tidyCues('WEBVTT\n')).toBe('WEBVTT\n');
});

it('cues that were left out are taken from another reading, in their place', () => {
  const sure = document('one', 'two', 'three').replace(cue(1, 'two'), '').replace('\n\n\n', '\n\n');
  expect(mergedCues(sure, document('ONE', 'TWO', 'THREE'))).toBe(document('one', 'TWO', 'three'));
});

it('of two cues with one time, of which one was left out, both are taken from the other reading', () => {
  const other = `WEBVTT\n\n${cue(0, 'ONE')}\n${cue(0, 'TWO')}`;
  expect(mergedCues(document('one'), other)).toBe(other);
});

it.each([
  ['until the next one begins', ['00:01.000 --> 00:01.000', '00:02.500 --> 00:03.000'], '00:01.000 --> 00:00:02.500'],
  ['for four seconds at most', ['00:01.000 --> 00:01.000', '00:09.000 --> 00:10.000'], '00:01.000 --> 00:00:05.000'],
  ['for four seconds at the end', ['00:01.000 --> 00:01.000'], '00:01.000 --> 00:00:05.000'],
  [
    'beside another one of its time',
    ['25:59:59.000 --> 25:59:59.000', '25:59:59.000 --> 26:00:01.000'],
    '25:59:59.000 --> 26:00:03.000',
  ],
  [
    'whatever order they have, and where it ends before it begins',
    ['00:03.000 --> 00:02.000', '00:01.000 --> 00:02.000', '00:04.000 --> 00:05.000'],
    '00:03.000 --> 00:00:04.000',
  ],
])('a cue without length is shown %s', (_, times, shown) => {
  const written = (first: string | undefined) =>
    `WEBVTT\n\n${[first, ...times.slice(1)].map((time, n) => `${time}\ncue ${n}\n`).join('\n')}`;
  expect(tidyCues(written(times[0]))).toBe(written(shown));
});
