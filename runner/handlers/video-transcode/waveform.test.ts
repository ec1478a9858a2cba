import { expect, it } from 'vitest';
import { waveformCommand } from './waveform.ts';

const graph = (durationSec: number) =>
  waveformCommand('ffmpeg', { input: 'made/audio/a.mp4', durationSec }).args.find((each) => each.startsWith('[0:a]'));

it('the command of a waveform bounds the samples that ffmpeg keeps', () => {
  const drawn =
    'aformat=sample_fmts=s16:channel_layouts=mono,asetnsamples=n=1024:pad=0,showwavespic=size=1280x240:colors=0x4a7dff:scale=sqrt,format=bgra[out]';
  const envelope = '[0:a]aeval=exprs=(abs(val(0))+abs(val(1)))/2:channel_layout=mono';
  expect(graph(0.1)).toBe(`${envelope},${drawn}`);
  expect(graph(3)).toBe(`${envelope},aresample=12000,${drawn}`);
  expect(graph(10)).toBe(`${envelope},aresample=1600,${drawn}`);
  expect(graph(43_200)).toBe(`${envelope},aresample=200,${drawn}`);
});
