import { expect, it } from 'vitest';
import { withClearKey } from './dash-manifest.ts';

it('each protected adaptation set of a DASH manifest gets Clear Key with the escaped address of its licence', () => {
  const common =
    '<ContentProtection value="cbcs" schemeIdUri="urn:mpeg:dash:mp4protection:2011" cenc:default_KID="0"/>';
  const manifest = [
    '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static">',
    ...[1, 2].flatMap(() => ['  <AdaptationSet>', `    ${common}`, '  </AdaptationSet>']),
    '</MPD>',
  ].join('\n');
  const clearKey = [
    '    <ContentProtection value="ClearKey1.0" schemeIdUri="urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e">',
    '      <dashif:Laurl>https://m.example/a&amp;b/api/key/h/clearkey</dashif:Laurl>',
    '    </ContentProtection>',
  ];
  expect(withClearKey(manifest, 'https://m.example/a&b/api/key/h').split('\n')).toEqual([
    '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:dashif="https://dashif.org/CPS" type="static">',
    ...[1, 2].flatMap(() => ['  <AdaptationSet>', `    ${common}`, ...clearKey, '  </AdaptationSet>']),
    '</MPD>',
  ]);
});
