import { expect, it } from 'vitest';
import { parseFrameSize } from './largest-frame.ts';

it.each([
  ['width=640|height=360|sample_aspect_ratio=1:1', { width: 640, height: 360, sampleAspect: 1 }],
  ['width=720|height=576|sample_aspect_ratio=64:45|', { width: 720, height: 576, sampleAspect: 64 / 45 }],
  ['width=720|height=576|sample_aspect_ratio=N/A', { width: 720, height: 576, sampleAspect: 1 }],
  ['width=720|height=576|sample_aspect_ratio=0:1', { width: 720, height: 576, sampleAspect: 1 }],
  ['width=16384|height=16384|sample_aspect_ratio=1:1', null],
  ['side_data_type=H.26[45] User Data Unregistered SEI message', null],
  ['', null],
])('the size of a frame is read from the line %j', (line, frame) => {
  expect(parseFrameSize(line)).toEqual(frame);
});
