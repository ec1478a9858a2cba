import { describe, expect, it } from 'vitest';
import { showCommand } from '#platform/commands/command.ts';
import { packageCommand } from './packager.ts';

const words = (text: string) => text.split(' ');

const grid = { rate: { num: 30_000, den: 1001 }, gopFrames: 60, segmentFrames: 180 };
const tracks = [
  { kind: 'video' as const, id: 'r360_h264', input: 'made/video/r360_h264.mp4', language: null, role: null },
  {
    kind: 'audio' as const,
    id: 'audio_en_aac_2ch',
    input: 'made/audio/audio_en_aac_2ch.mp4',
    language: 'en',
    role: 'main' as const,
  },
];
const descriptors = [
  'in=made/video/r360_h264.mp4,stream=video,init_segment=packaged/video/r360_h264/init.mp4,segment_template=packaged/video/r360_h264/seg_$Number$.m4s,playlist_name=video/r360_h264/playlist.m3u8,iframe_playlist_name=video/r360_h264/iframes.m3u8',
  'in=made/audio/audio_en_aac_2ch.mp4,stream=audio,init_segment=packaged/audio/audio_en_aac_2ch/init.mp4,segment_template=packaged/audio/audio_en_aac_2ch/seg_$Number$.m4s,playlist_name=audio/audio_en_aac_2ch/playlist.m3u8,hls_group_id=audio,hls_name=audio_en_aac_2ch,language=en,dash_roles=main',
];
const lengths = ['--segment_duration', '6.00600010', '--fragment_duration', '2.00200010'];
const outputs = [
  ...words(
    '--io_cache_size 1048576 --hls_playlist_type VOD --hls_master_playlist_output packaged/packager-master.m3u8',
  ),
  ...words('--mpd_output packaged/manifest.mpd --generate_static_live_mpd'),
];

describe('the command that packages', () => {
  it('the package command writes the layout of a revision on the grid', () => {
    expect(packageCommand('packager', { tracks, output: 'packaged', grid, encryption: null })).toEqual({
      program: 'packager',
      args: [...descriptors, ...lengths, ...outputs],
    });
  });

  it('the package command encrypts with cbcs from the first segment on and masks its key where it is shown', () => {
    const key = Buffer.from('ffeeddccbbaa99887766554433221100', 'hex');
    const contentKey = { kid: '00112233445566778899aabbccddeeff', key };
    const encryption = { contentKey, keyEndpoint: 'https://media.example/api/key/h1' };
    const command = packageCommand('packager', { tracks, output: 'packaged', grid, encryption });
    expect(command).toEqual({
      program: 'packager',
      args: [
        ...descriptors,
        ...lengths,
        '--enable_raw_key_encryption',
        '--keys',
        'label=:key_id=00112233445566778899aabbccddeeff:key=ffeeddccbbaa99887766554433221100',
        ...words('--protection_scheme cbcs --clear_lead 0 --hls_key_uri https://media.example/api/key/h1'),
        ...outputs,
      ],
      secrets: ['ffeeddccbbaa99887766554433221100'],
    });
    expect(showCommand(command)).not.toContain('ffeeddcc');
  });

  it('the package command of a chunk continues the numbers of the video and shares its IV', () => {
    const encryption = {
      contentKey: { kid: '00112233445566778899aabbccddeeff', key: Buffer.alloc(16, 1) },
      keyEndpoint: 'https://media.example/api/key/h1',
    };
    const chunk = { firstSegment: 11, iv: '000102030405060708090a0b0c0d0e0f' };
    const { args } = packageCommand('packager', { tracks, output: 'packaged', grid, encryption, chunk });
    expect(args.join(' ')).toContain('--iv 000102030405060708090a0b0c0d0e0f --start_segment_number 11 ');
  });
});
