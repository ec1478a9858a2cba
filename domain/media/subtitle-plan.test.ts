import { expect, it } from 'vitest';
import { planSubtitles, type SubtitleSource, subtitleTracksMax } from './subtitle-plan.ts';

const source = (more: Partial<SubtitleSource>): SubtitleSource => ({
  streamIndex: 2,
  isCea608: false,
  language: 'ger',
  title: undefined,
  isForced: false,
  isHearingImpaired: false,
  ...more,
});

it('subtitle tracks have ids by language, and names that differ and fit into a quoted string', () => {
  const planned = planSubtitles([
    source({}),
    source({ isForced: true }),
    source({ language: undefined, title: 'Say "hi"\n' }),
    source({ language: undefined, isCea608: true }),
    source({ language: 'eng', isCea608: true }),
    source({ language: undefined }),
  ]);
  expect(planned.map(({ id, language, name }) => [id, language, name])).toEqual([
    ['text_de', 'de', 'German'],
    ['text_de_2', 'de', 'German 2'],
    ['text_und', null, 'Say  hi'],
    ['text_und_2', null, 'CC1'],
    ['text_en', 'en', 'English'],
    ['text_und_3', null, 'Subtitles'],
  ]);
});

it('of too many subtitle tracks, the first are planned', () => {
  const sources = Array.from({ length: subtitleTracksMax + 1 }, (_, streamIndex) => source({ streamIndex }));
  const planned = planSubtitles(sources).map(({ streamIndex }) => streamIndex);
  expect(planned).toEqual(Array.from({ length: 32 }, (_, index) => index));
});
