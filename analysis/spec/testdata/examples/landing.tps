// A controller lands a plane when it was approved, and the radio has not gone since.
var landing : int = landing
var approved : int = approved
var radio : int = radio

property landing_approved "landing without an approval that still stands" =
    always (start(landing == 1) -> [approved == 1, radio == 0))
