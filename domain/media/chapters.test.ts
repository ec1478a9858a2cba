import { describe, expect, it } from 'vitest';
import { chapterCues, isChapterTitle, planChapters } from './chapters.ts';

const chapter = (startSec: number, endSec: number, title?: string) => ({ startSec, endSec, title });

describe('chapters', () => {
  it('chapters lie within the video and have a title', () => {
    const found = [
      chapter(-3, -1, 'before the start'),
      chapter(-0.5, 2, ' Intro\n'),
      chapter(2, 9),
      chapter(5, 5, 'empty'),
      chapter(8, 9, 'from the end on'),
      chapter(12, 15, 'after the end'),
    ];
    expect(planChapters(found, 8)).toEqual([
      { startSec: 0, endSec: 2, title: 'Intro' },
      { startSec: 2, endSec: 8, title: 'Chapter 2' },
    ]);
    expect(
      planChapters(
        Array.from({ length: 900 }, () => chapter(0, 1)),
        8,
      ),
    ).toHaveLength(500);
  });

  it('every planned title is one that the publishing step accepts', () => {
    for (const title of ['a\u2028b\u0000c', 'x'.repeat(400), `${'y'.repeat(199)}  z`, '"<&>"', ''])
      expect(planChapters([chapter(0, 1, title)], 8).every((each) => isChapterTitle(each.title))).toBe(true);
    expect(['a\nb', ''].map((title) => isChapterTitle(title))).toEqual([false, false]);
  });

  it('the cues of chapters escape what WebVTT reads as markup', () => {
    expect(chapterCues(planChapters([chapter(0, 2, 'A & <b>'), chapter(2, 3723.5, 'B')], 4000))).toBe(
      'WEBVTT\n\n1\n00:00:00.000 --> 00:00:02.000\nA &amp; &lt;b&gt;\n\n2\n00:00:02.000 --> 01:02:03.500\nB\n',
    );
  });
});
