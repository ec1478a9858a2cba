import { useState } from 'preact/hooks';
import { html } from './base.js';
import { addFiles, chooseOptions, chosenOptions, stopFile, useFiles } from './dropped.js';
import { bytesText } from './format.js';
import { card } from './parts.js';

// Where files are dropped or chosen: what they get, and what becomes of each.

/** @import { DroppedFile, DroppedOptions } from './types.ts' */

/** @param {Event} event */
function onFiles({ currentTarget }) {
  if (!(currentTarget instanceof HTMLInputElement)) return;
  addFiles([...(currentTarget.files ?? [])], chosenOptions);
  currentTarget.value = '';
}

/** @param {{ profiles: readonly { name: string }[] }} props */
export function FilesToSubmit({ profiles }) {
  const files = useFiles();
  const [options, setOptions] = useState(chosenOptions);
  const choose = (/** @type {Partial<DroppedOptions>} */ more) => setOptions(chooseOptions(more));
  const box = (/** @type {'encrypt' | 'hasImages'} */ name, /** @type {string} */ label) =>
    html`<label class="check"><input type="checkbox" name=${name} checked=${options[name]}
      onChange=${(/** @type {Event} */ { currentTarget }) =>
        choose({ [name]: currentTarget instanceof HTMLInputElement && currentTarget.checked })} /> ${label}</label>`;
  const onChoice = (/** @type {Event} */ { currentTarget }) => {
    if (currentTarget instanceof HTMLSelectElement) choose({ profile: currentTarget.value });
  };
  const names = ['', ...profiles.map(({ name }) => name)];
  return card(
    'Files',
    { class: 'to-submit' },
    html`<p class="soft">Drop files anywhere on this page, or choose them. Each is uploaded and submitted at once.</p>
      <div class="choices">
        ${box('encrypt', 'Encrypt streams')} ${box('hasImages', 'Cover and preview of videos')}
        ${
          names.length > 1 &&
          html`<label class="field inline"><span>Profile</span>
            <select name="dropped-profile" value=${options.profile} onChange=${onChoice}>
              ${names.map((name) => html`<option value=${name}>${name === '' ? 'As the rules choose' : name}</option>`)}
            </select></label>`
        }
      </div>
      <input type="file" multiple aria-label="Files to upload" accept="video/*,audio/*,image/*" onChange=${onFiles} />
      <ul class="job-list uploads" aria-label="Files">${files.map(rowOf)}</ul>`,
  );
}

/** @param {DroppedFile} dropped */
function rowOf(dropped) {
  const { id, file, state, share, rate, text, jobId } = dropped;
  const size = bytesText(file.size);
  const texts = {
    waiting: `${size}, waits for the files before it`,
    uploading: `${Math.round(share * 100)} % of ${size}, ${bytesText(rate)} a second`,
    submitted: `${size}, submitted`,
    failed: text,
  };
  const label = state === 'uploading' ? 'Stop' : 'Remove';
  return html`<li key=${id} data-state=${state}>
    <span class="break">${jobId === '' ? file.name : html`<a href=${`#/jobs/${jobId}`}>${file.name}</a>`}</span>
    <span class=${state === 'failed' ? 'fault' : 'soft'}>${texts[state]}</span>
    ${state === 'uploading' && html`<progress max="1" value=${share} aria-label=${`Upload of ${file.name}`}></progress>`}
    ${
      state !== 'submitted' &&
      html`<button type="button" class="button small" aria-label=${`${label} ${file.name}`}
        onClick=${() => stopFile(dropped)}>${label}</button>`
    }
  </li>`;
}
