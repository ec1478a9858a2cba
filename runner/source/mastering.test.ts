import { expect, it } from 'vitest';
import { parseMastering } from './mastering.ts';

const display = {
  side_data_type: 'Mastering display metadata',
  red_x: '34000/50000',
  red_y: '16000/50000',
  green_x: '13250/50000',
  green_y: '34500/50000',
  blue_x: '7500/50000',
  blue_y: '3000/50000',
  white_point_x: '15635/50000',
  white_point_y: '16450/50000',
  min_luminance: '50/10000',
  max_luminance: '10000000/10000',
};
const light = { side_data_type: 'Content light level metadata', max_content: 1000, max_average: 400 };
const frames = (...sideData: object[]) => JSON.stringify({ frames: [{ side_data_list: sideData }] });

it('the mastering of HDR is read from the first frame', () => {
  expect(parseMastering(frames({ side_data_type: 'other' }, display, light))).toEqual({
    display: {
      red: [0.68, 0.32],
      green: [0.265, 0.69],
      blue: [0.15, 0.06],
      white: [0.3127, 0.329],
      luminance: [1000, 0.005],
    },
    contentLight: [1000, 400],
  });
  expect(parseMastering(frames(display))?.contentLight).toBeNull();
});

it('content light is read without the display', () => {
  expect(parseMastering(frames(light))).toEqual({ display: null, contentLight: [1000, 400] });
  expect(parseMastering(frames({ ...display, red_x: '1:scenecut=1' }, light))?.display).toBeNull();
});

it.each([
  ['no side data', '{"frames":[{}]}'],
  ['no frame', '{}'],
  ['content light of 0, which stands for unknown', frames({ ...light, max_content: 0, max_average: 0 })],
  ['values that are no numbers', frames({ ...display, red_x: '1:scenecut=1' })],
])('%s has no mastering', (_, json) => {
  expect(parseMastering(json)).toBeNull();
});
