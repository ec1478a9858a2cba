import { parseThumbPresets, type ThumbPresets } from '#domain/playback/thumb-options.ts';
import type { TextValue } from './values.ts';

/** Presets of images: `card=w:320,h:180,fit:cover;hero=w:1280`. */
export const thumbPresetsValue: TextValue<ThumbPresets> = {
  expected: 'presets such as card=w:320,h:180,fit:cover;hero=w:1280',
  read: (text) => {
    const parsed = parseThumbPresets(text);
    return 'presets' in parsed ? parsed.presets : null;
  },
  explain: (text) => {
    const parsed = parseThumbPresets(text);
    return 'faults' in parsed ? [...parsed.faults] : [];
  },
};
