//! A whole file as one device, or as several with cables among them.

use super::resolve::{device, fault, scale};
use super::{Load, Profile, ProfileError, file, several};

/// Parses a profile's text; other files that it names come from `load`.
pub(super) fn profile(text: &str, load: Load<'_>) -> Result<Profile, ProfileError> {
    let file = file::read(text)?;
    let whole = file::first_line(0..text.len(), text);
    let scale = scale(file.scale.as_ref())?;
    let profile = if file.device.is_empty() {
        if let Some(link) = file.link.first() {
            return fault(
                link.span(),
                "a cable without devices",
                "name the devices that it joins, each in a [[device]]",
            );
        }
        if let Some(other) = &file.profile {
            return fault(
                other.span(),
                "a profile cannot be another one",
                "`profile` belongs into a [[device]]",
            );
        }
        Profile::of_device(device(&file, &whole)?)
    } else {
        several::network(&file, &whole, load)?
    };
    Ok(if scale < 1.0 { profile.scaled(scale) } else { profile })
}
