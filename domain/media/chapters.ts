import { fitText } from '../text.ts';
import { cueTime } from './cue-time.ts';

/** A chapter of a video, in seconds from its start. */
export interface Chapter {
  readonly startSec: number;
  readonly endSec: number;
  readonly title: string;
}

/** More are not of use to a viewer. */
export const chaptersMax = 500;
export const chapterTitleMax = 200;

/** Whether `title` may be the title of a chapter. */
export function isChapterTitle(title: string): boolean {
  return title !== '' && fitText(title, chapterTitleMax) === title;
}

/** The chapters that lie within a video, at most `chaptersMax`; those without a title are numbered. */
export function planChapters(
  found: readonly (Omit<Chapter, 'title'> & { readonly title: string | undefined })[],
  durationSec: number,
): Chapter[] {
  const within = found.filter(({ startSec, endSec }) => startSec < durationSec && endSec > Math.max(0, startSec));
  return within.slice(0, chaptersMax).map(({ startSec, endSec, title }, index) => ({
    startSec: Math.max(0, startSec),
    endSec: Math.min(durationSec, endSec),
    title: fitText(title ?? '', chapterTitleMax) || `Chapter ${index + 1}`,
  }));
}

/** The chapters as WebVTT, for a track of the kind `chapters`. */
export function chapterCues(chapters: readonly Chapter[]): string {
  const cues = chapters.map(({ startSec, endSec, title }, index) => {
    const text = title.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    return `${index + 1}\n${cueTime(startSec)} --> ${cueTime(endSec)}\n${text}\n`;
  });
  return ['WEBVTT\n', ...cues].join('\n');
}
