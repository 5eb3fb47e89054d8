ALTER CONNECTION pg OPTIONS ('password' = 'secret:new')
